import HoldfastMessageData
import Testing

/// Tests of the description of each `MessageError`, and of changing its texts.
@Suite struct MessageErrorTests {
  private static let errors: [(MessageError, String, MessageError)] = [
    (.malformed(detail: "d"), "d", .malformed(detail: "dx")),
    (.missing(field: "f"), "f is missing", .missing(field: "fx")),
    (.wrongType(field: "f"), "f is of another type", .wrongType(field: "fx")),
    (.badIdentifier(field: "f"), "f is not an identifier", .badIdentifier(field: "fx")),
    (.badDate(field: "f"), "f is not a date", .badDate(field: "fx")),
    (.wrongShop(found: "s"), "it belongs to shop s", .wrongShop(found: "sx")),
    (.frameTooLong(bytes: 7), "its frame has 7 bytes", .frameTooLong(bytes: 7)),
    (.textTooLong(characters: 7), "its text has 7 characters", .textTooLong(characters: 7)),
  ]

  @Test(arguments: errors)
  func `an error has a description, and its texts can be changed`(
    error: MessageError, text: String, changed: MessageError
  ) throws {
    #expect(error.description == text)
    #expect(error.mapText { $0 + "x" } == changed)
    let declared = try EnumCases.declared(
      "MessageError", in: "Messages/Data/Wire/MessageError.swift")
    #expect(EnumCases.used(by: Self.errors.map(\.0)).count == declared.count)
  }
}
