"""The commands of the command line; each imports what it needs when it is run."""

from collections.abc import Sequence

from absl import flags

from .command import DONE, FAILED, Command, ConfigCommand, guarded, say_mistake


class Train(ConfigCommand):
    summary = "train, evaluate and export as the gin files say"

    def __init__(self):
        super().__init__()
        flags.DEFINE_float(
            "grace_secs",
            120.0,
            "After SIGTERM or Ctrl-C the step is finished and saved; after so many seconds, or "
            "the signal once more, the process ends at once.",
            lower_bound=0.0,
            flag_values=self.flags,
        )

    def run(self, rest: list[str]) -> int:
        from .preemption import PREEMPTION
        from .quiet import importing_tensorflow, less_from_tensorflow
        from .report import TerminalReport

        less_from_tensorflow()
        PREEMPTION.install(self.flags.grace_secs)
        report = TerminalReport()

        loaded = []

        def train() -> None:
            with importing_tensorflow():
                config = self.load(rest)
                loaded.append(config)
                import tensorflow  # noqa: F401 - its start-up lines are held back here
            from ..input_fns import bad_records
            from .cluster_spec import this_task
            from .driver import train_and_evaluate

            train_and_evaluate(report=report)
            for source, count in bad_records().items():
                report.warn(f"{source}: {count} malformed record(s) were skipped")
            # A finished run calls only what evaluates it, and a task of a cluster only its part.
            if report.training_started and this_task() is None:
                for line in config.unused():
                    report.warn(line)

        return guarded(
            train,
            started=lambda: report.training_started,
            bindings=lambda: loaded[0].bindings if loaded else (),
        )


class Check(ConfigCommand):
    summary = "parse and audit the gin files, print the resolved run, start nothing"

    def __init__(self):
        super().__init__()
        flags.DEFINE_bool(
            "names", False, "Lists the names that a gin file can use.", flag_values=self.flags
        )
        flags.DEFINE_bool(
            "versions",
            False,
            "Shows what is installed and with which versions Genever is tested.",
            flag_values=self.flags,
        )
        flags.DEFINE_bool(
            "twin",
            False,
            "Trains the model a few steps under its strategy and on one device, and compares.",
            flag_values=self.flags,
        )
        flags.DEFINE_integer(
            "twin_steps", 5, "Steps of --twin.", lower_bound=1, flag_values=self.flags
        )

    def run(self, rest: list[str]) -> int:
        from .quiet import importing_tensorflow, less_from_tensorflow

        less_from_tensorflow()
        self._agree = True
        code = guarded(lambda: self._check(rest, importing_tensorflow))
        return code or (DONE if self._agree else FAILED)

    def _check(self, rest: list[str], importing_tensorflow) -> None:
        from ..estimators.cluster_roles import require_roles
        from .cluster_spec import this_task
        from .config import register, resolved, train_strategy
        from .gin_tables import names
        from .peers import roll_call

        if self.flags.versions:
            from .versions import show

            show()
        if self.flags.names:
            register()
            print("\n".join(sorted(n for n in names() if not n.startswith("gin."))))
        if (self.flags.versions or self.flags.names) and not self.flags.gin_file:
            return
        with importing_tensorflow():
            self.load(rest)
        if self.flags.twin:
            self._twin(rest)
            return
        for name, value in resolved():
            print(f"{name} = {value}")
        task = this_task()
        if task is not None:
            require_roles(train_strategy(), task.cluster)
            print(f"cluster, in which this process is {task.name}:")
            print("\n".join(roll_call(task)))
        print("the config is sound; nothing was started")

    def _twin(self, rest: list[str]) -> None:
        from .quiet import importing_tensorflow
        from .twin import TIMEOUT_SECS, compare

        with importing_tensorflow():
            import tensorflow  # noqa: F401 - its start-up lines are held back here
        request = {
            "gin_files": self.flags.gin_file,
            "gin_params": self.flags.gin_param,
            "allow_kwargs": self.flags.allow_kwargs,
            "rest": rest,
        }
        self._agree, lines = compare(request, self.flags.twin_steps, TIMEOUT_SECS)
        print("\n".join(lines))


class Run(Command):
    summary = "run a Python program unchanged, with tf.estimator on every TensorFlow"
    arguments = "SCRIPT [args] | -m MODULE [args]"
    ends_as_python_does = True

    def __init__(self):
        super().__init__()
        flags.DEFINE_bool(
            "tf1",
            False,
            "`import tensorflow` in the program means TensorFlow 1, with tf.contrib.",
            flag_values=self.flags,
        )
        flags.DEFINE_multi_string(
            "tf1_package",
            [],
            "With --tf1: an installed package that is TF1 code too.",
            flag_values=self.flags,
        )
        flags.DEFINE_bool(
            "driver",
            True,
            "tf.estimator.train_and_evaluate in the program is Genever's.",
            flag_values=self.flags,
        )

    def parse(self, argv: list[str]) -> list[str] | None:
        """Parses the flags before the program; returns the program and its arguments."""
        at = 2
        while at < len(argv) and argv[at].startswith("-") and argv[at] not in ("-m", "--"):
            at += 2 if argv[at].lstrip("-") == "tf1_package" else 1
        if super().parse(argv[:at]) is None:
            return None
        program = argv[at + 1 :] if argv[at : at + 1] == ["--"] else argv[at:]
        if len(program) < 1 + (program[:1] == ["-m"]):
            raise flags.Error("'run' needs a program: SCRIPT [args] or -m MODULE [args]")
        return program

    def run(self, rest: list[str]) -> int:
        from ..estimators.compat.contrib import NotInTF1Error
        from . import legacy, slurm_environment

        try:
            slurm_environment.adopt()
        except ValueError as error:
            return say_mistake(str(error))
        packages = self.flags.tf1_package
        if packages and not self.flags.tf1:
            return say_mistake("--tf1_package has a meaning only with --tf1")
        if rest[0] == "-m":
            packages = [*packages, rest[1].partition(".")[0]]
        world = legacy.World(self.flags.tf1, self.flags.driver, tuple(packages))
        try:
            if rest[0] == "-m":
                legacy.run_module(rest[1], rest[2:], world)
            else:
                legacy.run_script(rest[0], rest[1:], world)
        except legacy.NoProgramError as error:
            return say_mistake(str(error))
        except NotInTF1Error as error:
            return say_mistake(f"{legacy.place(error)}{error}")
        return DONE


class Lint(Command):
    summary = "list what breaks in a project's source, on which version, and the cure"
    arguments = "PATH..."

    def __init__(self):
        from .lint_flags import define

        super().__init__(define())

    def run(self, rest: list[str]) -> int:
        from .lint_flags import run

        try:
            return run(self.flags, rest)
        except ValueError as error:
            return say_mistake(str(error))


class Inspect(Command):
    summary = "list what a checkpoint holds, and whose slots an optimizer's values are"
    arguments = "CHECKPOINT | MODEL_DIR | SAVED_MODEL"

    def __init__(self):
        super().__init__()
        flags.DEFINE_enum(
            "format", "table", ["table", "json"], "How to print it.", flag_values=self.flags
        )

    def parse(self, argv: Sequence[str]) -> list[str] | None:
        rest = super().parse(argv)
        if rest is not None and len(rest) != 1:
            raise flags.Error("'inspect' needs one checkpoint, model_dir or SavedModel")
        return rest

    def run(self, rest: list[str]) -> int:
        from .quiet import importing_tensorflow, less_from_tensorflow

        less_from_tensorflow()

        def show() -> None:
            from .inspect_checkpoint import show

            with importing_tensorflow():
                import tensorflow  # noqa: F401 - its start-up lines are held back here
            show(rest[0], self.flags.format)

        return guarded(show)
