import LinkCore
import LinkServerCore

/// Names of hosts and origins of pages, each with what is known of it, before a server's doors.
struct PartsDoorsWalk: TwinWalk {
  /// The value of a Host field without its port.
  private struct Name {
    var text: String
    var isLocal = false
    var address: [UInt8] = []
    /// Whether it is no name at all, whatever follows.
    var isOdd = false
  }

  var chance: Chance
  var stray: String?

  private static let seven: [UInt8] = [0xFD] + [UInt8](repeating: 0, count: 14) + [7]

  private static let names = [
    Name(text: "localhost", isLocal: true), Name(text: "127.0.0.1", isLocal: true),
    Name(text: "127.3.2.1", isLocal: true), Name(text: "[::1]", isLocal: true),
    Name(text: "[0:0::1]", isLocal: true), Name(text: "relay.example"),
    Name(text: "evil.example"), Name(text: "192.168.1.7", address: [192, 168, 1, 7]),
    Name(text: "[::ffff:192.168.1.7]", address: [192, 168, 1, 7]),
    Name(text: "[fd00::7]", address: seven), Name(text: "[FD00:0::07]", address: seven),
    Name(text: "126.0.0.1"), Name(text: "[::2]"), Name(text: "[]"), Name(text: "localhost."),
    Name(text: "localhost.evil.example"), Name(text: "a]"), Name(text: "", isOdd: true),
    Name(text: "[::1", isOdd: true), Name(text: "::1", isOdd: true),
    Name(text: "[::1]x", isOdd: true), Name(text: "[::1]127.0.0.1", isOdd: true),
  ]

  private static let ports = [
    ("", true), ("", true), (":80", true), (":443", true), (":8443", true), (":", true),
    (":0123456789", true), (":8x", false), (":80:80", false), (":/", false), ("::", false),
  ]

  private static let own: [(String?, [UInt8])] = [
    (nil, []), ("relay.example", []), ("192.168.1.7", [192, 168, 1, 7]), ("fd00::7", seven),
    ("[fd00::7]", seven), ("0.0.0.0", [0, 0, 0, 0]),
  ]

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many requests; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    compare(
      "what is said to a page", WebDoors.foreignOrigin, "Web pages of this origin may not call.")
    let new = WebDoors()
    compare("a new door is local", new.isLocal, true)
    for _ in 0..<times where stray == nil { tryOne() }
    return stray
  }

  private mutating func tryOne() {
    var doors = WebDoors()
    let (own, address) = one(Self.own)
    doors.isLocal = happens(2)
    doors.ownName = own
    doors.hosts = one([[], [], ["proxy.example", "relay.example:8443"], ["evil.example", ""]])
    doors.origins = one([[], ["https://app.example", "null"]])
    let (name, port) = (one(Self.names), one(Self.ports))
    let upper = happens(3)
    let base = upper ? name.text.uppercased() : name.text
    let host = base + port.0
    let isName = !name.isOdd && port.1
    let isOwn = own == name.text.lowercased() || (!address.isEmpty && address == name.address)
    let isHere = isName && (name.isLocal || isOwn)
    let usual = [":80", ":443"].contains(port.0)
    compare("\(host) without its port", WebDoors.withoutUsualPort(host), usual ? base : strip(host))
    let known = doors.hosts.contains(usual ? base.lowercased() : strip(host.lowercased()))
    let isOpen = !doors.isLocal && doors.hosts.isEmpty
    compare(
      "the host \(host) before \(doors)", doors.admit(host: host), isOpen || isHere || known)
    compare(
      "no host before \(doors)", doors.admit(host: nil), isOpen || doors.hosts.contains(""))
    tryOrigin(doors, host, isLocal: isName && name.isLocal)
  }

  /// A port that is written twice loses one.
  private func strip(_ host: String) -> String {
    host.hasSuffix(":80:80") ? String(host.dropLast(3)) : host
  }

  private mutating func tryOrigin(_ doors: WebDoors, _ host: String, isLocal: Bool) {
    let scheme = one(["http://", "https://", "http://", "https://", "HTTP://", "ftp://", "", "//"])
    let usual = scheme == "http://" || scheme == "https://"
    let origin = scheme + host
    compare("the origin \(origin)", doors.admit(origin: origin), usual && isLocal)
    compare("no origin", doors.admit(origin: nil), true)
    for other in ["https://app.example", "null", "https://app.example:443", "http://app.example"] {
      let must = doors.origins.contains(other)
      compare("the origin \(other)", doors.admit(origin: other), must)
    }
  }
}
