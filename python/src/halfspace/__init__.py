"""halfspace in Python: `halfspace.spark` runs the command of this wheel in the tasks of Apache Spark."""
