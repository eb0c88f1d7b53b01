import HoldfastCore
import HoldfastMessageData
import HoldfastRelayData
import Testing

@Suite struct `The address of a push` {
  private func read(_ text: String) throws(MessageError) -> PushAddress {
    try PushAddress.decode(Array(text.utf8))
  }

  private func apns(
    _ token: String, _ topic: String? = nil, _ environment: APNsAddress.Environment = .production
  ) throws -> PushAddress {
    .apns(
      try #require(APNsAddress(token: token, topic: topic, environment: environment)))
  }

  @Test func `writes and reads each kind`() throws {
    let kinds: [(PushAddress, String)] = [
      (
        try apns("00FFaa"),
        #"{"kind":"apns","address":"00ffaa","environment":"production"}"#
      ),
      (
        try apns("00", "example.app-1", .sandbox),
        #"{"kind":"apns","address":"00","environment":"sandbox","topic":"example.app-1"}"#
      ),
      (.hook("a \"b\""), #"{"kind":"hook","address":"a \"b\""}"#),
    ]
    for (address, text) in kinds {
      #expect(String(decoding: address.encode(), as: UTF8.self) == text)
      #expect(try read(text) == address)
    }
    #expect(try read(#"{"kind":"apns","address":"00","more":[1]}"#) == apns("00"))
  }

  @Test func `a token has 2 to 200 hexadecimal digits in pairs`() {
    for count in [2, 4, 64, 200] {
      #expect(APNsAddress(token: String(repeating: "a", count: count)) != nil)
    }
    for count in [0, 1, 3, 201, 202] {
      #expect(APNsAddress(token: String(repeating: "a", count: count)) == nil)
    }
    for token in ["0g", "../..", "aé", "a b0"] { #expect(APNsAddress(token: token) == nil) }
  }

  @Test func `a topic is a bundle id of up to 255 bytes`() {
    for topic in ["a", "example.App-1", String(repeating: "a", count: 255)] {
      #expect(APNsAddress(token: "00", topic: topic) != nil)
    }
    for topic in ["", "a b", "a\r\nb", "ä", String(repeating: "a", count: 256)] {
      #expect(APNsAddress(token: "00", topic: topic) == nil)
    }
  }

  @Test func `the address of a hook has 1 to 1,024 bytes and no control characters`() throws {
    let longest = String(repeating: "a", count: 1_024)
    #expect(try read(#"{"kind":"hook","address":"\#(longest)"}"#) == .hook(longest))
    for address in ["", longest + "a", #"\n"#, #"\u007f"#] {
      #expect(throws: MessageError.badIdentifier(field: "address")) {
        try read(#"{"kind":"hook","address":"\#(address)"}"#)
      }
    }
  }

  @Test func `errors do not contain the address`() {
    let faults: [(String, MessageError)] = [
      (#"{"address":"00"}"#, .missing(field: "kind")),
      (#"{"kind":"apns"}"#, .missing(field: "address")),
      (#"{"kind":"apns","address":7}"#, .missing(field: "address")),
      (#"{"kind":"fax","address":"1"}"#, .malformed(detail: "kind is neither apns nor hook")),
      (#"{"kind":"apns","address":"xyz"}"#, .badIdentifier(field: "address")),
      (
        #"{"kind":"apns","address":"00","environment":"test"}"#,
        .malformed(detail: "environment is not an Apple push service")
      ),
    ]
    for (text, fault) in faults {
      #expect(throws: fault) { try read(text) }
    }
  }
}
