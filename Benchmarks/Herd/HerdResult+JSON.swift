import HoldfastCore
public import HoldfastJSON

extension HerdResult {
  /// Writes the members of the JSON object that `HoldfastBench herd --json` prints.
  public func write(to writer: inout JSONWriter) {
    writer.entry("name", name)
    plan.write(to: &writer)
    Self.write("peak", peak(of: { $0.tries }), to: &writer)
    Self.write("peakAfter", peak(of: { $0.tries }, from: firstOpenSecond), to: &writer)
    Self.write("peakPolls", peak(of: { $0.polls }), to: &writer)
    let total = total
    for (key, count) in [
      ("tries", total.tries), ("accepted", total.accepted), ("refused", total.refused),
      ("wasted", total.wasted), ("polls", total.polls), ("away", away), ("gaveUp", gaveUp),
    ] {
      writer.entry(key, count)
    }
    for (key, share) in [("back50", 0.5), ("back99", 0.99), ("backAll", 1)] {
      let time = time(untilBack: share)
      writer.entry(key, time.map { Double($0.nanoseconds / 1_000_000) / 1_000 })
    }
    writeSeconds(to: &writer)
  }

  private static func write(
    _ key: String, _ peak: (second: Int, count: Int), to writer: inout JSONWriter
  ) {
    writer.object(key) {
      $0.entry("second", peak.second)
      $0.entry("count", peak.count)
    }
  }

  private func writeSeconds(to writer: inout JSONWriter) {
    writer.object("seconds") { seconds in
      for (key, counts) in [
        ("tries", self.seconds.map { $0.tries }), ("accepted", self.seconds.map { $0.accepted }),
        ("polls", self.seconds.map { $0.polls }), ("connected", connected),
      ] {
        seconds.array(key) { for count in counts { $0.int(count) } }
      }
    }
  }
}

extension HerdPlan {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.entry("clients", clients)
    writer.entry("cause", outage.cause.rawValue)
    writer.entry("outage", outage.length.text)
    writer.entry("capacity", door.capacity)
    writer.entry("whenFull", door.whenFull.rawValue)
    writer.entry("seed", seed)
  }
}
