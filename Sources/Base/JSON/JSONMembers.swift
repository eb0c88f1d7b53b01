extension JSONWriter {
  /// Writes a member whose value is a string, or `null` if `text` is `nil`.
  public mutating func entry(_ name: String, _ text: String?) {
    key(name)
    string(text)
  }

  /// Writes a member whose value is a whole number, or `null` if `number` is `nil`.
  public mutating func entry(_ name: String, _ number: (some BinaryInteger)?) {
    key(name)
    if let number { int(number) } else { null() }
  }

  /// Writes a member whose value is a number, or `null` if `number` is `nil`.
  public mutating func entry(_ name: String, _ number: Double?) {
    key(name)
    if let number { double(number) } else { null() }
  }

  /// Writes a member whose value is `true` or `false`.
  public mutating func entry(_ name: String, _ value: Bool) {
    key(name)
    bool(value)
  }

  /// Writes a member whose value is an array of strings.
  public mutating func entry(_ name: String, _ texts: [String]) {
    array(name) { for text in texts { $0.string(text) } }
  }

  /// Writes a member whose value is an array; `elements` writes its elements.
  public mutating func array(_ name: String, _ elements: (inout JSONWriter) -> Void) {
    key(name)
    beginArray()
    elements(&self)
    endArray()
  }

  /// Writes a member whose value is an object; `members` writes its members.
  public mutating func object(_ name: String, _ members: (inout JSONWriter) -> Void) {
    key(name)
    object(members)
  }

  /// Writes an object; `members` writes its members.
  public mutating func object(_ members: (inout JSONWriter) -> Void) {
    beginObject()
    members(&self)
    endObject()
  }
}
