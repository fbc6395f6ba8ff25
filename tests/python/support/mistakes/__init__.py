"""What goes wrong for new users, and what leads back: an expression, the class, the parameter and words of the message.

A file for each door, and in it a list for each thing that is done there. The names in the expressions are those of
``test_mistakes.py``. A row that is wrong here is a message to mend.
"""

from . import archives, clients, faces, models, questions, series, serving, tables

MISTAKES = {
    what: rows
    for door in (questions, series, tables, clients, serving, archives, models, faces)
    for what, rows in door.MISTAKES.items()
}
