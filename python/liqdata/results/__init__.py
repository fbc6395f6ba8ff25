"""What queries return: rows, records, heatmaps and liquidation maps, with their frames, pictures and text."""
