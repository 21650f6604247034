"""What a run writes into its model_dir beside checkpoints: its configs."""

import os
import tempfile


def require_writable(model_dir: str) -> None:
    """Raises a ValueError where model_dir cannot be made or written to."""
    try:
        os.makedirs(model_dir, exist_ok=True)
        with tempfile.TemporaryFile(dir=model_dir):
            pass
    except OSError as error:
        raise ValueError(
            f"model_dir '{model_dir}' cannot be written to ({error.strerror}); give another "
            "--model_dir (RunConfig.model_dir)"
        ) from error


def write_config(model_dir: str, filename: str, text: str) -> None:
    """Writes a gin config into model_dir, whole or not at all; nothing where nothing is bound."""
    if not text.strip():
        return
    os.makedirs(model_dir, exist_ok=True)
    path = os.path.join(model_dir, filename)
    with open(f"{path}.tmp", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.tmp", path)
