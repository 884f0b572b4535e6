"""Networks that find the trees themselves: Ordered Memory and ON-LSTM."""
