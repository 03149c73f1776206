"""`python -m afterwit.deploy.cli`: the `afterwit` command."""

from . import main

main()
