import Foundation
import HoldfastCore
import HoldfastDriver
import HoldfastHealthRelay
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastTestKit
import Testing

/// Tests that the first line of a journal keeps a format that later versions can read.
struct JournalHeaderTests {
  private let scratch: Scratch
  /// A header written by the first implementation of format version 1, with an abridged policy.
  private let stream =
    #"{"extra":{"shop":"s1"},"journal":1,"machine":"message-stream","part":1,"#
    + #""policy":{"gate.debounce":"3s","preset":"message-stream"},"seed":7,"startedAt":5}"#
  private let relay =
    #"{"extra":{"notification":"true"},"journal":1,"machine":"health-relay","part":1,"#
    + #""policy":{"preset":"health-relay-service"},"seed":18446744073709551615,"startedAt":5}"#

  init() throws {
    scratch = try Scratch()
  }

  @Test func `reads and writes a stream's header as the first implementation did`()
    async throws
  {
    let shop = try #require(ShopID("s1"))
    let policy = try LinkPolicy.messageStream.setting([(key: "gate.debounce", value: "3s")])
    try await checkFormat(
      JournalHeader<StreamModel>(
        birth: StreamModel.Birth(shop: shop, policy: policy), seed: 7, startedAt: start), stream)
  }

  @Test func `reads and writes a relay's header as the first implementation did`()
    async throws
  {
    try await checkFormat(
      JournalHeader<RelayModel>(
        birth: RelayModel.Birth(RelaySettings(.service)), seed: .max, startedAt: start), relay)
  }

  @Test func `a pull's header contains its settings`() async throws {
    let journal = try await Journal<PullModel>(
      path: scratch("j"),
      header: JournalHeader(birth: PullSettings(), seed: 7, startedAt: start)
    ) { _ in }
    await journal.close()
    #expect(try JournalReader<PullModel>(path: scratch("j")).header.birth == PullSettings())
    #expect(try JournalFormat.machine(of: scratch("j")) == "health-pull")
  }

  @Test func `reading a journal as another machine's fails and names both machines`() throws {
    try scratch.write((stream + "\n").utf8, to: "stream")
    try scratch.write((relay + "\n").utf8, to: "relay")
    let asRelay = #expect(throws: JournalError.self) {
      try Replay<RelayModel>.run(journal: scratch("stream"))
    }
    #expect(asRelay?.problem == .machine("message-stream", known: ["health-relay"]))
    #expect(asRelay?.description.contains(#"not of "health-relay""#) == true)
    let asStream = #expect(throws: JournalError.self) {
      try Replay<StreamModel>.run(journal: scratch("relay"))
    }
    #expect(asStream?.problem == .machine("health-relay", known: ["message-stream"]))
  }

  private let start = Timestamp(nanoseconds: 5)

  /// Checks that the line is decoded as `header`, and that the header that is written now has the
  /// same form, except for its version.
  private func checkFormat<M: Journaled>(_ header: JournalHeader<M>, _ line: String) async throws {
    try scratch.write((line + "\n").utf8, to: "old")
    #expect(try JournalReader<M>(path: scratch("old")).header == header)
    #expect(try Replay<M>.run(journal: scratch("old")).steps == 0)
    let journal = try await Journal<M>(path: scratch("new"), header: header) { _ in }
    await journal.close()
    let decoder = JSONDecoder()
    var first = try decoder.decode(FirstHeader.self, from: Data(line.utf8))
    // Version 2 added notes after the header, which has the same form.
    first.journal = JournalFormat.version
    #expect(try decoder.decode(FirstHeader.self, from: Data(scratch.bytes(of: "new"))) == first)
  }
}

/// A header with the fields that the first implementation decoded.
private struct FirstHeader: Decodable, Equatable {
  var journal: Int
  var part: Int
  var machine: String
  var policy: LinkPolicy
  var seed: UInt64
  var startedAt: Timestamp
  var extra: [String: String]
}
