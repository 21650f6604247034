"""A network of its own for a process and its children: a loopback that no one else can reach.

TensorFlow's gRPC servers ask nobody who he is, and listen on every interface. Linux lets even an
ordinary user make a network namespace, where there is nothing but a loopback (man 7
network_namespaces, man 7 user_namespaces).
"""

import ctypes
import os
import socket
import struct

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1


def enter() -> str | None:
    """Moves this process, and the children it starts from now on, into a network of its own.

    It must have one thread only. Files and rights stay as they are.

    Returns:
      None, or why the kernel does not allow it; then nothing has changed.
    """
    try:
        libc = ctypes.CDLL(None, use_errno=True)
    except OSError as error:
        return str(error)
    if not hasattr(libc, "unshare"):
        return "this system has no network namespaces"
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(_NEW_NET) != 0:
        if libc.unshare(_NEW_USER | _NEW_NET) != 0:
            return os.strerror(ctypes.get_errno())
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")
    _bring_up_loopback()
    return None


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _bring_up_loopback() -> None:
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, _GET_FLAGS, request))[1]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))
