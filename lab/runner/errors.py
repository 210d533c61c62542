"""A failure a person can act on: which object, why, and what to do about it."""


class LabError(Exception):
    """Printed by lab/vm as two lines; never a stack trace."""

    def __init__(self, what, cause, remedy, details=""):
        super().__init__(f"{what}: {cause}")
        self.what = what
        self.cause = cause
        self.remedy = remedy
        self.details = details

    def text(self):
        lines = [f"lab: | {line}" for line in self.details.splitlines()]
        lines.append(f"lab: error: {self.what}: {self.cause}")
        if self.remedy:
            lines.append(f"lab: remedy: {self.remedy}")
        return "\n".join(lines)
