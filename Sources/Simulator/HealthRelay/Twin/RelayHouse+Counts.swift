import LinkCore
import LinkServerCore
import LinkWire

// What the server says of itself.
extension RelayHouse {
  var health: ServiceHealth {
    guard mode == .serves else { return .draining }
    switch failure {
    case nil: return .ok
    case .full: return .failing(reason: "the disk of the relay's store is full")
    case .locked: return .failing(reason: "another program holds the relay's store")
    case .corrupt: return .failing(reason: "the relay's store is damaged")
    case .fromTheFuture: return .failing(reason: "the relay's store is of a newer version")
    case .denied: return .failing(reason: "the relay's store cannot be written")
    case .other: return .failing(reason: "the relay's store failed")
    }
  }

  /// The body of its page of health.
  var healthText: String {
    let status: String
    switch health {
    case .ok: status = #""ok""#
    case .draining: status = #""draining""#
    case .failing(let reason): status = #""failing","reason":"\#(reason)""#
    }
    return #"{"status":\#(status),"phones":\#(sockets.count),"questions":\#(calls.count)}"#
  }

  /// Its part of the page of metrics, without the words for people.
  var page: [String] {
    var lines: [String] = []
    func tell(_ name: String, _ value: Int, isCounter: Bool) {
      lines.append("# TYPE holdfast_\(name) \(isCounter ? "counter" : "gauge")")
      lines.append("holdfast_\(name) \(value)")
    }
    func tellAll(_ name: String) {
      lines.append("# TYPE holdfast_\(name) counter")
      for (row, value) in counts.sorted(by: { $0.key < $1.key }) where row.hasPrefix(name) {
        lines.append("holdfast_\(row) \(value)")
      }
    }
    tell("relay_phones", sockets.count, isCounter: false)
    tell("relay_phones_known", phones.count, isCounter: false)
    tell("relay_questions", calls.count, isCounter: false)
    tell("relay_accesses", accesses.count, isCounter: false)
    for name in ["relay_calls_total", "relay_pulls_total", "relay_pushes_total"] { tellAll(name) }
    let names = [
      "relay_opened_total", "relay_resumed_total", "relay_replaced_total", "relay_refused_total",
      "relay_silent_total", "relay_slow_readers_total", "relay_wrong_pairs_total",
      "relay_strays_total", "relay_store_failures_total",
    ]
    for name in names { tell(name, Int(counts[name] ?? 0), isCounter: true) }
    return lines
  }

  /// The lines of the relay on a page, without the words for people.
  static func lines(of page: String) -> [String] {
    page.split(separator: "\n").map(String.init).filter {
      $0.hasPrefix("holdfast_relay") || $0.hasPrefix("# TYPE holdfast_relay")
    }
  }

  /// What the server's pages say otherwise than they must.
  func strayOfPages(_ server: RelayServer) -> String? {
    var page = MetricsPage()
    server.report(to: &page)
    for (found, must) in zip(Self.lines(of: page.text), self.page + [""]) where found != must {
      return "the relay's metrics say \(found), not \(must)"
    }
    let found = String(decoding: server.healthBytes, as: UTF8.self)
    return found == healthText ? nil : "the relay's health is \(found), not \(healthText)"
  }
}

extension RelayHouse: Twin {
  static var name: String { "the relay" }

  func difference(from server: RelayServer, after input: RelayServer.Input?) -> String? {
    if server.isFinished != (mode == .ended) { return "says otherwise whether it has ended" }
    let found = server.serviceHealth
    return found == health ? nil : "says that it is \(found), not \(health)"
  }
}
