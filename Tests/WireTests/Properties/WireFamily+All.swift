import HoldfastCore
import HoldfastJSON
import HoldfastTestKit

@testable import HoldfastIdentity
@testable import HoldfastMessageData
@testable import HoldfastRelayData
@testable import HoldfastSessionData
@testable import HoldfastSyncData

extension WireFamily {
  /// All kinds of JSON that this module both decodes and encodes.
  static let all = sessions + relay + pull + streams + syncs

  private static let sessions = [
    WireFamily(
      "client of a session", read: SessionClientMessage.read, write: \.bytes,
      random: { $0.clientMessage() }),
    WireFamily(
      "server of a session", read: SessionServerMessage.read, write: \.bytes,
      random: { $0.serverMessage() }),
  ]

  private static let relay = [
    WireFamily(
      "backend", read: BackendMessage.read, write: \.bytes, random: { $0.backendMessage() }),
    WireFamily(
      "phone", isRaw: true, read: { try PhoneMessage.read($0) }, write: \.bytes,
      random: { $0.phoneMessage() }),
    WireFamily(
      "list of assistants", read: PairedAssistants.read, write: \.bytes,
      random: { $0.pairedAssistants() }),
    WireFamily(
      "order to end pairings", read: AssistantsOrder.read, write: \.bytes,
      random: { $0.one([.list, .endAll, .end($0.id()), .synced($0.id(), allows: $0.flag())]) }),
    WireFamily(
      "order about synced samples", read: SyncedOrder.read, write: \.bytes,
      random: {
        $0.one([.stop, .read(secret: $0.id(), zone: nil), .read(secret: "s", zone: $0.id())])
      }),
    WireFamily(
      "user of synced samples", read: SyncedAnswer.read, write: \.bytes,
      random: { SyncedAnswer(user: $0.maybe { $0.id() }) }),
    // An error in the topic has the field name `address`.
    WireFamily(
      "push address", namesMembers: false, read: PushAddress.decode, write: { $0.encode() },
      random: { $0.pushAddress() }),
  ]

  private static let pull = [
    WireFamily(
      "order of questions", read: LeaseRequest.read, write: \.bytes,
      random: { LeaseRequest(max: $0.one([1, 2, 99, 100])) }),
    WireFamily(
      "leased questions",
      read: { bytes in
        var leased = try LeasedQuestions.read(bytes)
        // Rejected questions are not encoded.
        leased.rejected = []
        return leased
      }, write: \.bytes, random: { $0.leasedQuestions() }),
    WireFamily(
      "leased result", isRaw: true, read: { try LeasedResult.read($0) }, write: \.bytes,
      random: { LeasedResult(lease: $0.id(), message: $0.phoneMessage(isAnonymous: false)) }),
  ]

  private static let streams = [
    WireFamily(
      "frame of a stream", read: { try StreamCodec.decode($0, shop: Sample.shop) },
      write: { frame in
        switch frame {
        case .message(let message): StreamCodec.encode(message)
        case .edited(let message): StreamCodec.encode(ShopEvent.edited(message))
        case .deleted(let deletion): StreamCodec.encode(ShopEvent.deleted(deletion))
        case .draining(let time): StreamCodec.encodeDraining(within: time)
        case .unknown(let type): SessionServerMessage.unknown(type: type).bytes
        }
      }, random: { $0.streamFrame() }),
    WireFamily(
      "message to send", read: { try NewMessage.decode($0) }, write: { $0.encode() },
      random: {
        NewMessage(shop: Sample.shop, text: $0.id(), parent: $0.maybe { .random(using: &$0) })
      }),
    WireFamily(
      "edit to send", read: { try MessageEdit.decode($0) }, write: { $0.encode() },
      random: {
        MessageEdit(
          id: .random(using: &$0), text: $0.id(),
          shop: Bool.random(using: &$0) ? ShopID("bakery") : nil)
      }),
    WireFamily(
      "answer to a deletion", read: { try Envelope.decodeDeletion($0, shop: Sample.shop) },
      write: { Envelope.deletion($0, note: "x") }, random: { $0.maybe { $0.deletion() } }),
    WireFamily(
      "page",
      read: { bytes in
        var page = try PageCodec.decode(bytes, shop: Sample.shop)
        // Rejected entries and their fault are not encoded.
        (page.rejected, page.fault) = (0, nil)
        return page
      }, write: { PageCodec.encode($0, query: .page(number: 1, limit: 20), total: 1) },
      random: { $0.page() }),
    WireFamily(
      "answer to an edit", read: { try Envelope.decodeEdit($0, shop: Sample.shop) },
      write: {
        $0.map { Envelope.message($0, status: 200, note: "x") }
          ?? Envelope.deletion(nil, note: "x")
      },
      random: { Optional($0.message()) }),
    WireFamily(
      "answer to a message", read: { try Envelope.decodeMessage($0, shop: Sample.shop) },
      write: { Envelope.message($0, status: 201, note: "x") }, random: { $0.message() }),
    WireFamily(
      "claims",
      // A time that is out of range is decoded as the last possible time. Encoding rounds it to a
      // whole second.
      read: { try Claims.decode(json: Claims.decode(json: $0).encode()) },
      write: { $0.encode() }, random: { $0.claims() }),
  ]

  private static let syncs = [
    // Errors in a batch contain a byte position and do not always name the member.
    WireFamily(
      "batch", namesMembers: false, read: SyncBatch.read, write: \.bytes,
      random: { $0.syncBatch() }),
    WireFamily("tally", read: IngestCounts.read, write: \.bytes, random: { $0.counts() }),
  ]
}
