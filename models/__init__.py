"""Datasets, estimators, quantization and exact emulation of kilobyte-size classifiers."""
