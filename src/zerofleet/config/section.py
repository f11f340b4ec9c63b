"""The base of every section of settings."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Settings that belong together: frozen, checked when built, nothing converted to fit."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        validate_default=True,
    )
