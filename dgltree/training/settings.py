"""Settings of Lightning's trainer that all trainings share."""

from typing import Any

SETTINGS: dict[str, Any] = {
    "reload_dataloaders_every_n_epochs": 1,  # an order of its own for every epoch
    "logger": False,
    "enable_model_summary": False,
    "num_sanity_val_steps": 0,
}
