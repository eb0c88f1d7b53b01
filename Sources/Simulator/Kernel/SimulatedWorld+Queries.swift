import LinkCore

// What a world asks of its kernel.
extension SimulatedWorld where Self: ~Copyable {
  // Clocks.

  /// What the wall clock of a host shows. A phone's runs a little wrong.
  func wall(_ host: HostID) -> Timestamp {
    let rate = host.kind == .phone ? kernel.weather.wallDrift : 0
    let drift = rate == 0 ? 0 : Int64(Double(now.nanoseconds) * rate)
    return Timestamp(
      nanoseconds: Kernel<Feature>.wallBase.nanoseconds + now.nanoseconds + drift
    ).advanced(by: kernel.hosts[host.place].wallOffset)
  }

  /// The time that a model is told: it may stand still while its process is suspended.
  func time(_ host: HostID) -> Instant {
    now.advanced(by: .zero - kernel.hosts[host.place].slept)
  }

  // Traffic.

  /// The host whose way to the network another one uses: a phone's system uses that of its phone.
  func carrier(of host: HostID) -> HostID {
    host.kind == .system ? kernel.phones[host.index] : host
  }

  /// Whether nothing passes between a host and the network now.
  func isHole(_ host: HostID) -> Bool {
    let host = carrier(of: host)
    return kernel.hosts[host.place].conditions.isHole
      || now < kernel.hosts[host.place].network.holeUntil
  }

  func line(_ number: TrafficID) -> Int? { kernel.lines.firstIndex { $0.number == number } }

  func line(of host: HostID, _ attempt: AttemptID) -> Int? {
    kernel.lines.firstIndex {
      $0.attempt == attempt && $0.run == kernel.hosts[host.place].run && $0.from == host
    }
  }

  func exchange(_ number: TrafficID) -> Int? { kernel.exchanges.firstIndex { $0.number == number } }

  // Acts.

  /// Whether an act of a verb is under way.
  func isUnderWay(_ verb: Feature.Verb, on host: HostID? = nil) -> Bool {
    kernel.active.contains {
      let act = kernel.plan.acts[$0].act
      return act.verb == .own(verb) && (host == nil || act.host ?? host?.index == host?.index)
    }
  }

  /// The hosts that an act concerns.
  func targets(of act: Act<Feature.Verb>) -> [HostID] {
    let kind = act.kind ?? act.form.host
    return kernel.hosts.map(\.id).filter { $0.kind == kind && act.host ?? $0.index == $0.index }
  }
}
