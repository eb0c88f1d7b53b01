extension LinkPolicy: Codable {
  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Reads a flat object of keys and values as `encode` writes it.
  ///
  /// `preset` names the preset that it starts from; a key that is absent keeps that preset's value,
  /// so a hand-written policy states only what differs.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let name = try container.decode(String.self, forKey: Key(stringValue: "preset"))
    guard let preset = LinkPolicy.preset(named: name) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "no preset is named \(name)"))
    }
    // In the order of the table: what a key moves besides itself is put right by those behind it.
    let known = PolicyKey.all.map(\.name)
    let given = container.allKeys.map(\.stringValue).filter { $0 != "preset" }
    let keys = known.filter(given.contains) + given.filter { !known.contains($0) }.sorted()
    var changes: [(key: String, value: String)] = []
    for key in keys {
      changes.append((key, try container.decode(String.self, forKey: Key(stringValue: key))))
    }
    do {
      self = try preset.setting(changes)
    } catch {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: error.description))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(name, forKey: Key(stringValue: "preset"))
    for (key, value) in values {
      try container.encode(value, forKey: Key(stringValue: key))
    }
  }
}
