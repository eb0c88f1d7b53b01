import LinkHealth
import LinkJSON

/// The members of a question or an answer, told a second time.
struct HealthWordsFields {
  let plain: RelayWireFields
  private var members: [SessionBranch] = []

  init(_ bytes: [UInt8]) {
    plain = RelayWireFields(bytes)
    if case .object(let members)? = SessionTree(bytes) { self.members = members }
  }

  /// The members of an object that must be whole.
  init(whole bytes: [UInt8]) throws(FieldFault) {
    self.init(bytes)
    try plain.check()
  }

  /// The members of an element of a list, which must be an object.
  init(element bytes: [UInt8], of list: String) throws(FieldFault) {
    self.init(bytes)
    if plain.fault != nil { throw .wrongType(field: list) }
  }

  func has(_ name: String) -> Bool { plain.has(name) }

  /// Reads any number, with a point or without.
  func figure(_ name: String) throws(FieldFault) -> Double? {
    let value = members.last { $0.name == name }?.value ?? .null
    if value == .null { return nil }
    guard case .number(let digits) = value else { throw .wrongType(field: name) }
    guard let figure = Double(digits), figure.isFinite else {
      throw .malformed(detail: "number out of range")
    }
    return figure
  }

  func count(_ name: String) throws(FieldFault) -> Int {
    try plain.number(name, from: 0, to: .max) ?? 0
  }

  func time(_ name: String) throws(FieldFault) -> HealthTime {
    let text = try plain.word(name, upTo: 64)
    if let time = HealthWordsTimes.time(text) { return time }
    throw .badDate(field: name)
  }

  func timeIfAny(_ name: String) throws(FieldFault) -> HealthTime? {
    plain.has(name) ? try time(name) : nil
  }

  /// Returns the place of a word in a list, in any letter case; `nil` for none or an empty one.
  func place(_ name: String, in words: [String]) throws(FieldFault) -> Int? {
    let text = try plain.text(name) ?? ""
    if text.isEmpty { return nil }
    for (place, word) in words.enumerated() where word.lowercased() == text.lowercased() {
      return place
    }
    throw .unknownWord(field: name, known: words)
  }

  func short(_ name: String) throws(FieldFault) -> String? {
    try plain.text(name).map { Self.short($0) }
  }

  /// Returns the first 1,000 Unicode scalars of a text.
  static func short(_ text: String) -> String {
    var short = ""
    for scalar in text.unicodeScalars.prefix(1_000) { short.unicodeScalars.append(scalar) }
    return short
  }
}
