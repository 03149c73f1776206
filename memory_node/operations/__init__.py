"""The operations of the contract, as a node serves them. One class for each thing that callers want."""
