import LinkCore
import LinkServerCore

/// Header fields of proxies, written from addresses that are known, and what a server reads there.
struct PartsProxiesWalk: TwinWalk {
  var chance: Chance
  var stray: String?
  var trust = PartsTrust.all[0]

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many requests; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    for _ in 0..<times where stray == nil {
      trust = one(PartsTrust.all)
      tryOne()
    }
    return stray
  }

  private mutating func tryOne() {
    var proxies = TrustedProxies()
    proxies.blocks = trust.blocks.compactMap { AddressBlock($0) }
    guard let peer = PartsNode.address(one(Self.peers)) else { return }
    var (fields, other) = (Fields(), Fields())
    if !happens(3) { fields = forwarded() }
    if happens(3) { other = forwardedFor() }
    if happens(9) { other = same() }
    if happens(6) { (fields, other) = long() }
    let found = proxies.client(of: peer, forwarded: fields.values, forwardedFor: other.values)
    compareClient(proxies.contains(peer), found, of: peer, fields, other)
  }

  /// Compares whether a peer is trusted, and the client of its connection.
  mutating func compareClient(
    _ isTrusted: Bool, _ found: NetworkAddress, of peer: NetworkAddress, _ fields: Fields,
    _ other: Fields
  ) {
    compare("\(peer) is told apart:", isTrusted, trust.covers(peer))
    let must = trust.client(
      of: peer, fields.values.isEmpty ? nil : fields.hops, other.values.isEmpty ? nil : other.hops)
    compare("the client of \(fields.values) and \(other.values)", found, must)
  }

  // Fields.

  /// The values of a header field and the hops that they state, the nearest last.
  struct Fields {
    var values: [String] = []
    var hops: [NetworkAddress?] = []
  }

  private static let peers: [[UInt8]] = [
    [10, 0, 0, 1], [10, 0, 0, 1], [10, 0, 0, 1], [192, 0, 2, 9],
    [0xFD] + [UInt8](repeating: 0, count: 15), [UInt8](repeating: 0, count: 15) + [1],
  ]

  private mutating func forwarded() -> Fields {
    var fields = Fields()
    for _ in 0..<number(0...3) {
      let elements = (0..<number(1...3)).map { _ in element() }
      let value = elements.map(\.text).joined(separator: ",")
      guard happens(6) else {
        fields.values.append(value)
        fields.hops += elements.map(\.address)
        continue
      }
      // A quote without an end makes one unknown hop.
      fields.values.append(
        value + one([";x=\"", ",for=\"10.0.0.3", "\"", ", for=\"", ";x=\"\\\""]))
      fields.hops.append(nil)
    }
    return fields
  }

  private mutating func forwardedFor() -> Fields {
    var fields = Fields()
    for _ in 0..<number(0...3) {
      let nodes = (0..<number(1...3)).map { _ in one(PartsNode.all) }
      fields.values.append(nodes.map { space() + $0.text + space() }.joined(separator: ","))
      fields.hops += nodes.map(\.address)
    }
    return fields
  }

  /// The same as the other field would state.
  private mutating func same() -> Fields {
    let node = one(PartsNode.all)
    return Fields(values: [node.text], hops: [node.address])
  }

  /// As many proxies as are looked at, about.
  private mutating func long() -> (Fields, Fields) {
    let nodes = (0..<number(30...35)).map { PartsNode("10.0.1.\($0)", [10, 0, 1, UInt8($0)]) }
    let hops = nodes.map(\.address)
    if happens(2) { return (Fields(), Fields(values: nodes.map(\.text), hops: hops)) }
    return (Fields(values: nodes.map { "for=\($0.text)" }, hops: hops), Fields())
  }

  private mutating func space() -> String { one(["", "", " ", "\t", " \t "]) }

  private static let others = [
    "proto=http", "by=10.0.0.1", #"by="x,for=6.6.6.6""#, #"by="x;for=6.6.6.6""#, "for", "", "=",
    #"x="a\",for=6.6.6.6""#, #"x="\\""#, #"x=\"a,for=6.6.6.6""#, "forx=6.6.6.6", "xfor=6.6.6.6",
    #""for=6.6.6.6""#, #"x="a\\\";for=6.6.6.6""#,
  ]

  /// One element of `Forwarded`; the first `for` of it counts.
  private mutating func element() -> PartsNode {
    var pairs = (0..<number(0...1)).map { _ in one(Self.others) }
    var address: NetworkAddress?
    if !happens(6) {
      let node = one(PartsNode.all + PartsNode.unquoted)
      let name = space() + one(["for", "For", "FOR"]) + space()
      let isBare = happens(2) || PartsNode.unquoted.contains { $0.text == node.text }
      let text = isBare ? node.text : "\"" + node.text + "\""
      pairs.append(name + "=" + space() + text + space())
      address = node.address
      if happens(4) { pairs.append("for=10.0.0.77") }
    }
    for _ in 0..<number(0...1) { pairs.append(one(Self.others)) }
    return PartsNode(pairs.joined(separator: ";"), address)
  }
}

/// A text in place of an address, and the address that it names.
struct PartsNode {
  let text: String
  let address: NetworkAddress?

  init(_ text: String, _ address: NetworkAddress?) { (self.text, self.address) = (text, address) }

  init(_ text: String, _ bytes: [UInt8]) { self.init(text, Self.address(bytes)) }

  static func address(_ bytes: [UInt8]) -> NetworkAddress? { NetworkAddress(bytes: bytes) }

  private static let zeros = [UInt8](repeating: 0, count: 13)
  private static let local = [0, 0] + zeros + [1]
  private static let remote: [UInt8] = [0x20, 1, 0xD] + zeros.dropLast(1) + [5]

  static let all = [
    PartsNode("10.0.0.2", [10, 0, 0, 2]), PartsNode("10.1.2.3:8080", [10, 1, 2, 3]),
    PartsNode("10.0.0.9:_p", [10, 0, 0, 9]), PartsNode("::ffff:10.0.0.4", [10, 0, 0, 4]),
    PartsNode("10.0.0.5:a=b", [10, 0, 0, 5]), PartsNode("10.0.0.7", [10, 0, 0, 7]),
    PartsNode("192.0.2.1", [192, 0, 2, 1]), PartsNode("192.0.2.2:80", [192, 0, 2, 2]),
    PartsNode("::1", local), PartsNode("[::1]", local), PartsNode("[::1]:443", local),
    PartsNode("2001:d00::5", remote), PartsNode("[2001:d00::5]:1", remote),
    PartsNode("fd00::2", [0xFD, 0] + zeros + [2]), PartsNode("[fd00::3]", [0xFD, 0] + zeros + [3]),
    PartsNode("[::1]80", nil), PartsNode("[::1", nil), PartsNode("unknown", nil),
    PartsNode("_hidden", nil), PartsNode("", nil), PartsNode("[]", nil), PartsNode("10.0.0", nil),
    PartsNode("10.0.0.256", nil), PartsNode(":80", nil), PartsNode("fd00::2:zz", nil),
  ]

  /// What would name an address if quotes were taken off that are no pair.
  static let unquoted = [
    PartsNode(#"x10.0.0.1:"""#, nil), PartsNode(#""10.0.0.1:"y"#, nil),
  ]
}

/// The blocks of trusted proxies, and the bytes with which their addresses begin.
struct PartsTrust {
  let blocks: [String]
  let starts: [(length: Int, bytes: [UInt8])]

  static let all = [
    PartsTrust(blocks: ["10.0.0.0/8"], starts: [(4, [10])]),
    PartsTrust(blocks: ["10.0.0.0/8", "fd00::/8"], starts: [(4, [10]), (16, [0xFD])]),
    PartsTrust(
      blocks: ["::1", "10.0.0.0/16"],
      starts: [(16, [UInt8](repeating: 0, count: 15) + [1]), (4, [10, 0])]),
    PartsTrust(blocks: [], starts: []),
  ]

  func covers(_ address: NetworkAddress) -> Bool {
    starts.contains { length, bytes in
      address.bytes.count == length && Array(address.bytes.prefix(bytes.count)) == bytes
    }
  }

  /// The client of a connection, by the hops of either field if it is there.
  func client(
    of peer: NetworkAddress, _ one: [NetworkAddress?]?, _ other: [NetworkAddress?]?
  ) -> NetworkAddress {
    let ends = [one, other].compactMap { hops in hops.map { furthest($0, from: peer) } }
    guard covers(peer), let first = ends.first else { return peer }
    return ends.allSatisfy { $0 == first } ? first : peer
  }

  /// The last one on the way out whose name a trusted one wrote.
  private func furthest(_ hops: [NetworkAddress?], from peer: NetworkAddress) -> NetworkAddress {
    var (here, left) = (peer, 32)
    var rest = hops
    while left > 0, covers(here), let hop = rest.popLast(), let address = hop {
      here = address
      left -= 1
    }
    return here
  }
}
