"""Who places the processes of a cluster: this machine, Slurm or Kubernetes; one file for each."""
