import LinkCore
import LinkServerCore

/// Names of hosts and origins of pages, each with what is known of it, before a server's doors.
struct PartsDoorsWalk: TwinWalk {
  /// The value of a Host field without its port.
  struct Name {
    var text: String
    var isLocal = false
    var address: [UInt8] = []
    /// Whether it is no name at all, whatever follows.
    var isOdd = false
  }

  var chance: Chance
  var stray: String?

  static let seven: [UInt8] = [0xFD] + [UInt8](repeating: 0, count: 14) + [7]

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
    compareNew(WebDoors(), says: WebDoors.foreignOrigin)
    for _ in 0..<times where stray == nil { tryOne() }
    return stray
  }

  /// Compares new doors, and what they say to a page that may not call.
  mutating func compareNew(_ doors: WebDoors, says text: String) {
    compare("what is said to a page", text, "Web pages of this origin may not call.")
    compare("a new door is local", doors.isLocal, true)
  }

  private mutating func tryOne() {
    var doors = WebDoors()
    let (own, address) = one(Self.own)
    doors.isLocal = happens(2)
    doors.ownName = own
    doors.hosts = one([[], [], ["proxy.example", "relay.example:8443"], ["evil.example", ""]])
    doors.origins = one([[], ["https://app.example", "null"]])
    let (name, port) = (one(Self.names), one(Self.ports))
    let base = happens(3) ? name.text.uppercased() : name.text
    let scheme = one(["http://", "https://", "http://", "https://", "HTTP://", "ftp://", "", "//"])
    let request = Request(name: name, base: base, port: port.0, isPort: port.1, scheme: scheme)
    compareAdmission(
      Admission(doors, request), Self.admission(request, to: doors, address), request, doors)
  }

  /// Compares what doors make of a request.
  mutating func compareAdmission(
    _ found: Admission, _ must: Admission, _ request: Request, _ doors: WebDoors
  ) {
    compare("\(request.host) without its port", found.bare, must.bare)
    compare("the host \(request.host) before \(doors)", found.host, must.host)
    compare("no host before \(doors)", found.noHost, must.noHost)
    compare("the origin \(request.origin)", found.origin, must.origin)
    compare("no origin", found.noOrigin, must.noOrigin)
    compare("the origins \(Self.others)", found.others, must.others)
  }

  /// What doors must make of a request, if their own name is this address or none.
  static func admission(
    _ request: Request, to doors: WebDoors, _ address: [UInt8]
  ) -> Admission {
    let (name, host) = (request.name, request.host)
    let isName = !name.isOdd && request.isPort
    let isOwn =
      doors.ownName == name.text.lowercased() || (!address.isEmpty && address == name.address)
    let isHere = isName && (name.isLocal || isOwn)
    let usual = [":80", ":443"].contains(request.port)
    let bare = usual ? request.base : strip(host)
    let isOpen = !doors.isLocal && doors.hosts.isEmpty
    let isUsual = request.scheme == "http://" || request.scheme == "https://"
    return Admission(
      bare: bare, host: isOpen || isHere || doors.hosts.contains(bare.lowercased()),
      noHost: isOpen || doors.hosts.contains(""), origin: isUsual && isName && name.isLocal,
      noOrigin: true, others: others.map { doors.origins.contains($0) })
  }

  /// A port that is written twice loses one.
  private static func strip(_ host: String) -> String {
    host.hasSuffix(":80:80") ? String(host.dropLast(3)) : host
  }

  static let others = [
    "https://app.example", "null", "https://app.example:443", "http://app.example",
  ]
}

extension PartsDoorsWalk {
  /// A host and its port as they are written, and the scheme of an origin of the same name.
  struct Request {
    var name: Name
    var base: String
    var port = ""
    /// Whether the port is one.
    var isPort = true
    var scheme = "http://"

    var host: String { base + port }
    var origin: String { scheme + host }
  }

  /// What doors make of a request.
  struct Admission: Equatable {
    /// The host without a usual port.
    var bare: String
    var host: Bool
    var noHost: Bool
    var origin: Bool
    var noOrigin: Bool
    /// Whether other origins are admitted.
    var others: [Bool]
  }
}

extension PartsDoorsWalk.Admission {
  init(_ doors: WebDoors, _ request: PartsDoorsWalk.Request) {
    self.init(
      bare: WebDoors.withoutUsualPort(request.host), host: doors.admit(host: request.host),
      noHost: doors.admit(host: nil), origin: doors.admit(origin: request.origin),
      noOrigin: doors.admit(origin: nil),
      others: PartsDoorsWalk.others.map { doors.admit(origin: $0) })
  }
}
