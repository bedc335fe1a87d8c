"""Speed and memory of jfed beside what people use today: `python -m benchmarks`. Not part of the tests."""
