"""The one error class for everything a user can put right: a sentence with the offending value and the fix."""


class SubtaxaError(Exception):
    """A problem the user can solve. The command line prints it as one sentence and exits with code 2."""


class SettingError(SubtaxaError, ValueError):
    """A setting is unknown or outside its allowed range."""


class InputError(SubtaxaError, ValueError):
    """A file, column or text cannot be used as given."""
