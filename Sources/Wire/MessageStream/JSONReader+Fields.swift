import LinkJSON

extension JSONReader {
  /// Whether a value of this kind comes next; passes over any other, which is a fault unless null.
  mutating func finds(
    _ kind: Kind, in field: String, noting fault: inout MessageError?
  ) throws(JSONError) -> Bool {
    let found = try peek()
    if found == kind { return true }
    if found != .null { fault.note(.wrongType(field: field)) }
    try skipValue()
    return false
  }
}

extension MessageError? {
  /// Keeps the first fault: what is wrong later may only follow from it.
  mutating func note(_ fault: MessageError) {
    self = self ?? fault
  }
}
