"""`python -m model.network.simulator` compiles the simulator, so that whoever simulates next finds it compiled."""

from model.network import Arrivals, Distribution, Network, Station, TransactionClass, Visit
from model.network.simulator import simulate

if __name__ == "__main__":
    visit = Visit(station="cp", service=Distribution.exponential(0.5))
    online = TransactionClass(name="online", arrivals=Arrivals.poisson(1.0), route=(visit,))
    simulate(Network(name="one queue", stations=(Station(name="cp"),), classes=(online,)), seed=1, horizon=1000)
