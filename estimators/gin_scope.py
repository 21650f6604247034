"""Takes the gin scope along into the threads in which a strategy runs its replicas."""

import functools

import gin


def _scope_of_this_thread():
    return gin.config_scope(gin.current_scope())


@functools.cache
def carry_gin_scope() -> None:
    """Makes every replica thread start in the gin scope of the thread that starts it."""
    from .compat import carry_into_replica_threads

    carry_into_replica_threads(_scope_of_this_thread)
