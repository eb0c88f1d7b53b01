import HoldfastCore
import HoldfastIdentity
import HoldfastMessageServer
import HoldfastServerFixtures
import Testing

struct MetricsTests {
  /// Returns the lines of the metrics page that are not comments.
  private static func lines(of served: Served) -> [String] {
    served.server.metricsText.split(separator: "\n").filter { !$0.hasPrefix("#") }
      .map(String.init)
  }

  private static let smallDay = [
    "holdfast_connections 1",
    "holdfast_shops 1",
    "holdfast_uptime_seconds 60",
    "holdfast_messages_accepted_total 1",
    "holdfast_messages_repeated_total 1",
    "holdfast_messages_edited_total 0",
    "holdfast_messages_deleted_total 0",
    "holdfast_broadcasts_total 1",
    "holdfast_frames_total 2",
    "holdfast_upgrades_total 4",
    #"holdfast_upgrades_refused_total{status="401"} 1"#,
    #"holdfast_upgrades_refused_total{status="403"} 1"#,
    #"holdfast_closes_total{code="1000"} 1"#,
    #"holdfast_closes_total{code="1006"} 1"#,
    #"holdfast_closes_total{code="1013"} 1"#,
    "holdfast_slow_readers_total 1",
    "holdfast_silent_total 1",
    "holdfast_auth_failures_total 1",
    "holdfast_store_failures_total 1",
    "holdfast_pings_total 1",
    #"holdfast_refusals_total{reason="forbidden"} 1"#,
    #"holdfast_refusals_total{reason="store"} 1"#,
    #"holdfast_refusals_total{reason="unauthorized"} 1"#,
    #"holdfast_ceiling{ceiling="streams"} 10000"#,
    #"holdfast_ceiling{ceiling="sockets_per_user"} 5"#,
    #"holdfast_ceiling{ceiling="requests"} 1024"#,
    #"holdfast_ceiling_used{ceiling="streams"} 1"#,
    #"holdfast_ceiling_used{ceiling="sockets_per_user"} 1"#,
    #"holdfast_ceiling_used{ceiling="requests"} 0"#,
  ]

  @Test func `reports the metrics of a small day`() throws {
    var served = Served.opened()
    served.open(2, as: Stage.token("bob"))
    _ = served.upgrade(3, as: .missing)
    _ = served.upgrade(4, as: Stage.token("eve", shops: []))
    let appended = try served.post("hello")
    served.pass(.milliseconds(20))
    _ = served.store(appended, at: 1)
    let repeated = try served.post("hello", key: UUID128(high: 1, low: 1))
    served.pass(.milliseconds(30))
    _ = served.store(repeated, at: 1, isNew: false)
    _ = served.take(.overflowed(ConnectionID(1)))
    _ = served.take(.gone(ConnectionID(1), code: 1013))
    _ = served.tick(at: .second(54))
    _ = served.tick(at: .second(60))
    served.open(5, as: Stage.token("eve"))
    _ = served.take(.gone(ConnectionID(5), code: 1000))
    let lost = try served.post("lost")
    _ = served.take(.stored(lost.0, .failed(.full(detail: ""))))
    served.open(6, as: Stage.token("eve"))
    let isOther = { (line: String) in line.hasPrefix("holdfast_refusals") && line.hasSuffix(" 0") }
    #expect(Self.lines(of: served).filter { !isOther($0) } == Self.smallDay)
  }

  @Test func `unregistered close codes share one counter`() {
    var served = Served()
    for code in UInt16(1)...5000 {
      served.open(UInt64(code))
      _ = served.take(.gone(ConnectionID(UInt64(code)), code: code))
    }
    let closes = Self.lines(of: served).filter { $0.hasPrefix("holdfast_closes_total") }
    #expect(closes.count == 18)
    #expect(closes.first == #"holdfast_closes_total{code="other"} 4983"#)
    #expect(closes.contains(#"holdfast_closes_total{code="4403"} 1"#))
  }

  @Test func `explains every family once, before its samples`() {
    let text = Served().server.metricsText
    var explained: [Substring] = []
    for line in text.split(separator: "\n") {
      let text = line.split(separator: " ")
      if line.hasPrefix("# TYPE") {
        explained.append(text[2])
      } else if !line.hasPrefix("#") {
        let family = explained.last ?? ""
        #expect(line.hasPrefix(family))
      }
    }
    #expect(explained.count == 23)
    #expect(Set(explained).count == explained.count)
  }
}
