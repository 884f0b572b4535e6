"""The commands of the equations."""

import pytest

pytest.importorskip("lightning", reason="the train extra is not installed")

from tasks.equations.__main__ import COMMANDS, main


def test_the_commands_are_listed_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == main([]) == 0
    out = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert f"  {name} " in out
        assert command.does in out
    assert max(map(len, out.splitlines())) <= 100


def test_a_command_that_is_not_there_is_refused_with_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generates"]) == 2
    error = capsys.readouterr().err
    assert "no command 'generates'" in error
    assert "own-blanks" in error


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_takes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    assert f"usage: python -m tasks.equations {name} " in capsys.readouterr().out
