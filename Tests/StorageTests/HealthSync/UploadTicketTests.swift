import HoldfastCore
import HoldfastJSON
import HoldfastTestKit
import HoldfastUploads
import Testing

/// Tests of the data that a phone stores about an upload that is in progress on a server.
@Suite struct UploadTicketTests {
  @Test func `a stored ticket reads back equal, and matches only its own bytes`() throws {
    let bytes: [UInt8] = [1, 2, 3]
    let ticket = UploadTicket(.current, url: "https://a.example/up?id=1", of: bytes, isGzip: true)
    #expect(
      String(decoding: ticket.bytes, as: UTF8.self)
        == #"{"protocol":"8","url":"https://a.example/up?id=1","size":3,"gzip":true,"#
        + #""sum":"d0aa6218672cf5ab"}"#)
    for dialect in [UploadDialect.current, .iOS, .tus] {
      var other = ticket
      other.dialect = dialect
      #expect(try UploadTicket.read(other.bytes) == other)
    }
    #expect(ticket.isFor(bytes, isGzip: true))
    #expect(!ticket.isFor(bytes, isGzip: false))
    #expect(!ticket.isFor([1, 2, 4], isGzip: true))
    #expect(!ticket.isFor([1, 2], isGzip: true))
    var longer = ticket
    longer.size += 1
    #expect(!longer.isFor(bytes, isGzip: true))
    for text in [
      "", "{}", "[]", #"{"protocol":"9","url":"x","size":1,"gzip":true,"sum":"1"}"#,
      #"{"protocol":"8","url":"x","size":1,"gzip":true,"sum":"1"} x"#,
    ] {
      #expect(throws: FieldFault.self) { try UploadTicket.read(Array(text.utf8)) }
    }
  }

  @Test(arguments: [
    ("8", true), ("3", true), ("tus", true), ("2", false), ("9", false), ("+8", false),
    ("08", false), ("x", false), ("", false),
  ])
  func `a ticket names its protocol by a short name`(name: String, isRead: Bool) {
    let text = #"{"protocol":"\#(name)","url":"x","size":1,"gzip":true,"sum":"1"}"#
    #expect(((try? UploadTicket.read(Array(text.utf8))) != nil) == isRead)
  }

  @Test(arguments: ["draft-08", "draft-008"])
  func `a ticket with another protocol name reports why it is not read`(name: String) {
    let text = #"{"protocol":"\#(name)","url":"x","size":1,"gzip":true,"sum":"1"}"#
    let fault: FieldFault =
      name.utf8.count > 8 ? .outOfBounds(field: "protocol") : .missing(field: "protocol")
    #expect(throws: fault) { try UploadTicket.read(Array(text.utf8)) }
  }

  @Test(arguments: [
    (#""size":0"#, true), (#""size":1099511627776"#, true), (#""size":1099511627777"#, false),
    (#""size":-1"#, false), (#""size":1,"sum":"10000000000000000""#, false),
    (#""size":1,"sum":"0000000000000001""#, true), (#""size":1,"sum":"00000000000000001""#, false),
    (#""size":1,"sum":"x""#, false), (#""size":1,"gzip":null"#, false),
  ])
  func `a ticket is read within its bounds`(members: String, isRead: Bool) {
    let text = #"{"protocol":"8","url":"x","gzip":false,"sum":"ffffffffffffffff",\#(members)}"#
    #expect(((try? UploadTicket.read(Array(text.utf8))) != nil) == isRead)
  }

  @Test(arguments: [(2_048, true), (2_049, false)])
  func `a ticket keeps a URL of up to 2,048 bytes`(count: Int, isRead: Bool) {
    let ticket = UploadTicket(
      .tus, url: String(repeating: "u", count: count), of: [], isGzip: false)
    #expect(((try? UploadTicket.read(ticket.bytes)) == ticket) == isRead)
  }

  @Test func `order, white space, escapes and unknown members of a ticket change nothing`() throws {
    var generator = RandomSource(seed: 21)
    for _ in 0..<50 {
      let ticket = generator.ticket()
      let text = try JSONTree(ticket.bytes).spelled(by: &generator, isExtended: true)
      #expect(try UploadTicket.read(Array(text.utf8)) == ticket, "\(text)")
      #expect(throws: FieldFault.self) { try UploadTicket.read(ticket.bytes + [0x7D]) }
    }
  }
}
