"""Approval modes: what a user wants to be asked about when no rule speaks."""

from __future__ import annotations

from enum import StrEnum


class ApprovalMode(StrEnum):
    """How much may happen without a question; the gate stands above all of them."""

    DEFAULT = "default"
    AUTO_EDIT = "auto_edit"
    PLAN = "plan"
    YOLO = "yolo"
