"""The command line: every command registered here, each in a file of ``commands``. No logic."""

from __future__ import annotations

from benchfill.commands.ablate import ablate
from benchfill.commands.answer import answer
from benchfill.commands.by_hand import add, edit
from benchfill.commands.decide import accept, reject
from benchfill.commands.detect import detect
from benchfill.commands.diagnose import diagnose
from benchfill.commands.doctor import doctor
from benchfill.commands.export import export
from benchfill.commands.grade import grade
from benchfill.commands.groups import command_group
from benchfill.commands.import_ import import_
from benchfill.commands.init import init
from benchfill.commands.ledger import ledger_app
from benchfill.commands.merge import merge
from benchfill.commands.models import models
from benchfill.commands.power import power
from benchfill.commands.prune import prune
from benchfill.commands.quality import quality
from benchfill.commands.resume import resume
from benchfill.commands.review import review_app
from benchfill.commands.run import run
from benchfill.commands.runs import path, runs_app, status
from benchfill.commands.select import select
from benchfill.commands.session import main_callback, run_app
from benchfill.commands.show import show
from benchfill.commands.verify import verify

__all__ = ["app", "main"]

app = command_group(
    name="benchfill",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Measure where a benchmark's items lie on the difficulty axis, and fill its gaps.\n\n"
    "Exit codes: 0 done; 1 failed or a gate refused; 2 usage; 3 budget spent; 4 ended with gaps not filled; "
    "5 paused; 130 / 143 interrupted.",
)
app.callback()(main_callback)
for command in (
    run,
    resume,
    init,
    doctor,
    answer,
    verify,
    status,
    show,
    accept,
    reject,
    edit,
    add,
    export,
    merge,
    path,
    diagnose,
    power,
    prune,
    quality,
    select,
    models,
    detect,
    grade,
    ablate,
):
    app.command()(command)
app.command("import")(import_)
app.add_typer(runs_app, name="runs")
app.add_typer(ledger_app, name="ledger")
app.add_typer(review_app, name="review")


def main() -> None:
    """Entry point of the ``benchfill`` command."""
    run_app(app)


if __name__ == "__main__":
    main()
