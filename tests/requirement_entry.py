"""What an entry of the requirements manifest holds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Requirement:
    """One documented behaviour.

    `sources` name the document, its language and the section; a sentence that two languages share is one requirement.
    `divergence` says where dogu does otherwise, and why. `deferred` is the name of the issue that will bring it.
    """

    sources: tuple[str, ...]
    behaviour: str
    divergence: str = ""
    deferred: str = ""
