import LinkCore
import LinkWire

/// Tokens of all forms, read and written a second time (RFC 7515, RFC 7519, RFC 4648 section 5).
struct TokenWalk: TwinWalk {
  var chance: Chance
  var stray: String?

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many tokens; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    for _ in 0..<times where stray == nil {
      tryLetters()
      tryClaims()
      tryToken()
    }
    return stray
  }

  // Letters.

  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

  /// Writes bits, six for each letter.
  static func letters(_ bytes: [UInt8]) -> String {
    var bits = bytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 } }
    while bits.count % 6 != 0 { bits.append(0) }
    return String(
      stride(from: 0, to: bits.count, by: 6).map { start in
        alphabet[bits[start..<start + 6].reduce(0) { $0 * 2 + Int($1) }]
      })
  }

  /// Reads letters: only those that are written for some bytes.
  static func bytes(_ text: String) -> [UInt8]? {
    var bits: [Int] = []
    for letter in text {
      guard let value = alphabet.firstIndex(of: letter) else { return nil }
      bits += (0..<6).map { value >> (5 - $0) & 1 }
    }
    let all = stride(from: 0, through: bits.count - 8, by: 8).map { start in
      bits[start..<start + 8].reduce(UInt8(0)) { $0 * 2 + UInt8($1) }
    }
    return letters(all) == text ? all : nil
  }

  private mutating func tryLetters() {
    let bytes = (0..<number(0...7)).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
    let text = Self.letters(bytes)
    compareLetters(Base64URL.encode(bytes), of: bytes)
    compare("\(text), read,", Base64URL.decode(text), bytes)
    var odd = Array(text)
    odd.insert(one(Array("+/=. @[`{AZaz09-_é")), at: number(0...odd.count))
    if happens(2) { odd.removeLast() }
    compareBytes(Base64URL.decode(String(odd)), of: String(odd))
  }

  mutating func compareLetters(_ found: String, of bytes: [UInt8]) {
    compare("base64url of \(bytes)", found, Self.letters(bytes))
  }

  mutating func compareBytes(_ found: [UInt8]?, of text: String) {
    compare("\(text), read,", found, Self.bytes(text))
  }

  // Claims.

  private mutating func claims() -> Claims {
    Claims(
      user: one(["u", "", String(of: "u", count: one([255, 256, 257]))]), name: one(["", "Ann\""]),
      shops: ["a", "b.c"].filter { _ in happens(2) }.compactMap { ShopID($0) },
      expiresAt: time(), notBefore: happens(2) ? time() : nil)
  }

  private mutating func time() -> Timestamp {
    let second = Int64(number(-3...3)) + (happens(2) ? 1_800_000_000 : 0)
    return Timestamp(nanoseconds: second * 1_000_000_000 + one([0, 1, 999_999_999]))
  }

  private static func tree(_ claims: Claims) -> SessionTree {
    // Whole seconds: the end comes no later, the beginning no sooner.
    let end = (Double(claims.expiresAt.nanoseconds) / 1e9).rounded(.down)
    var members = [
      SessionBranch(name: "sub", value: .text(claims.user)),
      SessionBranch(name: "name", value: .text(claims.name)),
      SessionBranch(name: "shops", value: .list(claims.shops.map { .text($0.text) })),
      SessionBranch(name: "exp", value: .number("\(second(claims.expiresAt, end))")),
    ]
    if let begin = claims.notBefore {
      let least = second(begin, (Double(begin.nanoseconds) / 1e9).rounded(.down))
      let isWhole = least * 1_000_000_000 == begin.nanoseconds
      members.append(SessionBranch(name: "nbf", value: .number("\(isWhole ? least : least + 1)")))
    }
    return .object(members)
  }

  /// The last whole second that is not after a time, near a guess.
  private static func second(_ time: Timestamp, _ guess: Double) -> Int64 {
    var second = Int64(guess) + 2
    while second * 1_000_000_000 > time.nanoseconds { second -= 1 }
    return second
  }

  private mutating func tryClaims() {
    let claims = claims()
    let tree = Self.tree(claims)
    comparePayload(claims.encode(), of: claims)
    for _ in 0..<8 {
      let bytes = Array(changed(tree).json.utf8)
      let found = MessageError.plain { () throws(MessageError) in try Claims.decode(json: bytes) }
      compareClaims(found, of: bytes)
    }
    let (now, leeway) = (time(), one([Duration.zero, .seconds(1), .seconds(60)]))
    compareBeginning(claims.hasBegun(by: now, within: leeway), of: claims, now, leeway)
  }

  mutating func comparePayload(_ found: [UInt8], of claims: Claims) {
    compare("a payload", Self.text(found), Self.tree(claims).json)
  }

  mutating func compareClaims(_ found: Result<Claims, MessageError>, of bytes: [UInt8]) {
    let must = MessageError.plain { () throws(MessageError) in
      var reading = ClaimsReading()
      return try reading.claims(bytes)
    }
    compare("\(Self.text(bytes)), read,", found, must)
  }

  /// Compares whether a token is valid already.
  mutating func compareBeginning(
    _ found: Bool, of claims: Claims, _ now: Timestamp, _ leeway: Duration
  ) {
    let begin = claims.notBefore?.nanoseconds ?? .min
    compare(
      "whether a token is valid already", found,
      now.nanoseconds >= begin
        - Int64(begin == .min ? 0 : leeway.components.seconds * 1_000_000_000))
  }

  private mutating func changed(_ tree: SessionTree) -> SessionTree {
    guard case .object(var members) = tree, !happens(9) else { return tree }
    let value: SessionTree = one([
      .null, .flag(true), .text(""), .text("u"), .number("0"), .number("-1.5"), .number("1.5"),
      .number("1e3"), .number("9223372036"), .number("9223372037"), .number("-9223372037"),
      .number("1e300"), .number("-1e300"), .list([]), .list([.text("a"), .null, .text("a/b")]),
      .list([.text("a"), .number("1")]), .object([]),
    ])
    let place = number(0...members.count - 1)
    switch number(0...3) {
    case 0: members.remove(at: place)
    case 1:
      let name = one(["sub", "name", "shops", "exp", "nbf", "odd"])
      members.insert(SessionBranch(name: name, value: value), at: place)
    case _: members[place].value = value
    }
    return .object(members)
  }

  // Tokens.

  private static let headers = [
    #"{"alg":"HS256","typ":"JWT"}"#, #"{"typ":"jwt","alg":"HS256"}"#, #"{"alg":"HS256"}"#,
    #"{"alg":"none"}"#, #"{"alg":"HS512","typ":"JWT"}"#, #"{"typ":"JWT"}"#, #"{"alg":256}"#,
    #"{"alg":"HS256","typ":"JWS"}"#, #"{"alg":"HS256","typ":1}"#, #"{"alg":"HS256","crit":[]}"#,
    #"{"alg":"HS256","kid":"a","x":[1]}"#, "[]", "",
  ]
  /// How many of them are good: the first three, and the one with other members.
  private static let good = Set([0, 1, 2, 10])

  private mutating func tryToken() {
    let claims = claims()
    let plain = Self.letters(Array(Self.headers[0].utf8)) + "." + Self.letters(claims.encode())
    compare(
      "a signing input", String(decoding: CompactToken.signingInput(claims: claims), as: UTF8.self),
      plain)
    let length = one([31, 32, 32, 32, 33])
    let signature = (0..<length).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
    let header = number(0...Self.headers.count - 1)
    // A payload that makes the token as long as it may be, or longer.
    let size = happens(9) ? number(6_050...6_080) : number(0...9)
    let payload = [UInt8](repeating: 7, count: size)
    var parts = [Array(Self.headers[header].utf8), payload, signature].map { Self.letters($0) }
    let isOdd = happens(6)
    if isOdd {
      parts = one([Array(parts.dropLast()), parts + [""], ["=" + parts[0]] + parts[1...]])
    }
    let text = parts.joined(separator: ".")
    let isGood = !isOdd && Self.good.contains(header) && length == 32 && text.utf8.count <= 8_192
    let input = Array(parts[0...1].joined(separator: ".").utf8)
    let found = try? CompactToken.parse(text)
    compare(
      "\(text), read,", found.map { [$0.signingInput, $0.payload, $0.signature] },
      isGood ? [input, payload, signature] : nil)
    compare(
      "a token", CompactToken.text(signingInput: Array("a.b".utf8), signature: signature),
      "a.b." + Self.letters(signature))
  }
}

/// How the payload of a token is read, told a second time.
struct ClaimsReading {
  private var fault: MessageError?
  private var values: [String: SessionTree] = [:]

  mutating func claims(_ bytes: [UInt8]) throws(MessageError) -> Claims {
    for member in try StreamReading.object(bytes) {
      values[member.name] = accepts(member) ? member.value : nil
    }
    if let fault { throw fault }
    guard case .text(let user)? = values["sub"], !user.isEmpty else { throw .missing(field: "sub") }
    if user.utf8.count > 256 { throw .badIdentifier(field: "sub") }
    guard case .list(let shops)? = values["shops"] else { throw .missing(field: "shops") }
    guard let end = time("exp", .towardZero) else { throw .missing(field: "exp") }
    var claims = Claims(user: user, name: "", shops: [], expiresAt: end)
    if case .text(let name)? = values["name"] { claims.name = name }
    for case .text(let shop) in shops { claims.shops += [ShopID(shop)].compactMap(\.self) }
    claims.notBefore = time("nbf", .up)
    return claims
  }

  private mutating func spoil(_ error: MessageError) { if fault == nil { fault = error } }

  private mutating func accepts(_ member: SessionBranch) -> Bool {
    switch (member.name, member.value) {
    case ("shops", .list(let all)):
      for shop in all where shop != .null {
        guard case .text(let text) = shop else {
          spoil(.wrongType(field: "shops"))
          continue
        }
        if !StreamReading.isShop(text) { spoil(.badIdentifier(field: "shops")) }
      }
      return true
    case ("sub", .text), ("name", .text), ("exp", .number), ("nbf", .number): return true
    case (_, let value):  // open set: names
      let isKnown = ["sub", "name", "shops", "exp", "nbf"].contains(member.name)
      if isKnown, value != .null { spoil(.wrongType(field: member.name)) }
      return false
    }
  }

  private func time(_ name: String, _ rule: FloatingPointRoundingRule) -> Timestamp? {
    guard case .number(let digits)? = values[name], let number = Double(digits) else { return nil }
    let second = number.rounded(rule)
    // What no timestamp can say is the first or the last one.
    if second > 9_223_372_036 { return Timestamp(nanoseconds: .max) }
    if second < -9_223_372_036 { return Timestamp(nanoseconds: .min) }
    return Timestamp(nanoseconds: Int64(second) * 1_000_000_000)
  }
}
