"""Many tasks on many machines: the store is the queue, Dask says which worker runs what."""
