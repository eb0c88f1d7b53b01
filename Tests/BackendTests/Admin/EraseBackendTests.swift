import Foundation
import HoldfastAssistants
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastMessageData
import HoldfastPorts
import HoldfastRelayData
import HoldfastServerParts
import HoldfastSessionServer
import HoldfastSyncData
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

/// Tests of the erasure of a user, over real sockets and files.
@Suite(.offThePool, .timeLimit(.minutes(60))) struct EraseBackendTests {
  private static let user = "ann-4711"
  private static let secret = "hush-hush-hush-hush"
  private static let gif = "GIF89a" + String(repeating: "0123456789", count: 200)

  /// Stores messages, an image, samples, an upload, a removal and a secret of the user, and a message
  /// of somebody else.
  private static func fill(_ admin: AdminRig) async throws {
    let rig = admin.rig
    let (own, other) = (try await rig.token(user), try await rig.token("ben"))
    let client = try rig.client()
    for number in 0..<150 {
      // A test that waits for the deletion of each message must not begin with fewer.
      try #require(try await client.post("text \(number) of \(user)", token: own).status == 201)
    }
    let upload = try await rig.client().ask(
      "POST", ImageRoute.upload.path + "?shop_id=bakery", token: own,
      fields: ["Content-Type: image/gif"], body: gif)
    let image = try Envelope.decodeImage(
      Array(upload.body.utf8), shop: BackendRig.shop, sent: .png)
    let text = ImageReference.text(for: image.url)
    try #require(try await client.post(text, token: own).status == 201)
    _ = try await rig.client().ask(
      "POST", ImageRoute.upload.path + "?shop_id=bakery", token: own,
      fields: ["Content-Type: image/gif"], body: gif)
    #expect(try await client.post("of ben", token: other).status == 201)
    let batch = SyncBatch(
      dataType: SyncSamples.steps, records: [SyncSamples.record(1_768_766_400, uuid: 1)],
      timestamp: SyncSamples.time(1_768_766_400))
    let synced = try await rig.client().ask(
      "POST", "/api/sync", token: secret, body: String(decoding: batch.bytes, as: UTF8.self))
    #expect(synced.status == 200)
    try await rig.backend.removeMember(user, of: BackendRig.other)
  }

  private static func configure(_ configuration: inout BackendConfiguration) {
    configuration.assistants.originPolicy.hosts = ["test"]
  }

  /// Returns a data directory whose file of secrets names the user and somebody else.
  private static func scratch() throws -> Scratch {
    let scratch = try Scratch()
    try FileManager.default.createDirectory(
      atPath: scratch("data"), withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    try scratch.write(
      Array("# USER SECRET\n\(user) \(secret)\nben the-other-secret\n".utf8),
      to: "data/sync-secrets")
    unsafe chmod(scratch("data/sync-secrets"), 0o600)
    return scratch
  }

  /// Returns the texts of all messages.
  private static func texts(_ rig: BackendRig) async throws -> [String] {
    let page = try await rig.client().ask(
      "GET", ShopRoute.all(BackendRig.shop).path, token: try await rig.token("ben"))
    // The envelope has an empty text.
    return page.body.matches(of: #/"message":"([^"]+)"/#).map { String($0.1) }
  }

  @Test func `no file of the data directory holds the user afterwards`() async throws {
    try await AdminRig.run(in: try Self.scratch(), Self.configure) { admin in
      try await Self.fill(admin)
      #expect(try admin.files(with: Self.user).count >= 4)
      let follower = try await admin.rig.follower(Self.user)
      let ben = try admin.rig.client()
      let answer = try await ben.follow(token: try await admin.rig.token("ben"), events: true)
      #expect(answer.status == 101)
      let job = try await admin.erase(Self.user)
      let ended = try await admin.end(of: job)
      try #require(ended.contains(#""messages":151"#))
      #expect(ended.contains(#""failure":null"#))
      #expect(try admin.files(with: Self.user) == [])
      let images = admin.scratch("data/images")
      #expect(try FileManager.default.contentsOfDirectory(atPath: images) == [])
      #expect(try await follower.close() == .close(4403, "removed by an operator"))
      // Another client sees each message deleted, in the order of the log.
      var last = ""
      for _ in 0..<151 {
        let frame = String(decoding: try await ben.frame().payload, as: UTF8.self)
        #expect(frame.contains("delete") && frame != last)
        last = frame
      }
      #expect(try await Self.texts(admin.rig) == ["of ben"])
      // The secret is not valid any more, and that of the other user is.
      for (secret, status) in [(Self.secret, 401), ("the-other-secret", 200)] {
        let summary = try await admin.rig.client().ask(
          "GET", "/api/health/summary", token: secret)
        #expect(summary.status == status)
      }
      #expect(!admin.acts.contains { $0.contains(Self.user) })
      #expect(admin.acts.contains { $0.contains(#""by":"job","act":"erase""#) })
      await admin.rig.backend.drainAndStop()
      #expect(try admin.files(with: Self.user) == [])
    }
  }

  @Test func `an erasure that was accepted goes on after a crash`() async throws {
    let scratch = try Self.scratch()
    var job = ""
    try await AdminRig.run(in: scratch, Self.configure) { admin in
      try await Self.fill(admin)
      job = try await admin.erase(Self.user)
    }
    try await AdminRig.run(in: scratch, Self.configure) { admin in
      _ = try await admin.end(of: job)
      #expect(try admin.files(with: Self.user) == [])
      #expect(try await Self.texts(admin.rig) == ["of ben"])
    }
  }

  @Test(arguments: [false, true])
  func `the user's sessions are erased, also after a crash`(isCrash: Bool) async throws {
    let (scratch, words) = (try Scratch(), "words-of-the-user")
    let user = "f1a9c1de-58a5-4a56-8d3b-0c4e5f7b1a22"  // of the kept tokens
    let configure = { (configuration: inout BackendConfiguration) in
      configuration.identity = IdentityConfiguration(
        keys: .file(KeptProvider.path("keycloak.json")), provider: KeptProvider.keycloak)
    }
    var job = ""
    try await AdminRig.run(in: scratch, configure) { admin in
      let port = admin.rig.address.port
      let own = try SessionClient(port: port, token: try KeptProvider.tokens("keycloak.tokens")[0])
      let key = try String(contentsOfFile: scratch("data/session-key"), encoding: .utf8)
      let keyed = try SessionClient(port: port, key: key)
      for (client, text) in [(own, words), (keyed, "words-of-another")] {
        try client.prompt(text, key: "k")
        _ = try client.response()
      }
      for text in [words, user] { #expect(try admin.files(with: text) != []) }
      job = try await admin.erase(user)
      guard !isCrash else { return }
      _ = try await admin.end(of: job)
      var code: Int?
      while code == nil { code = try own.closeCode() }
      #expect(code == 4403)
      try keyed.prompt("again", key: "k2")
      _ = try keyed.response()
    }
    try await AdminRig.run(in: scratch, configure) { admin in
      _ = try await admin.end(of: job)
      for text in [words, user] { #expect(try admin.files(with: text) == []) }
      #expect(try admin.files(with: "words-of-another") != [])
    }
  }

  @Test func `what a crash left of a file that was being replaced is removed`() async throws {
    let scratch = try Self.scratch()
    let random = "0123456789abcdefghijklmn"
    for name in ["erasures", "removed.json", "sync-secrets"] {
      try scratch.write(Array(Self.user.utf8), to: "data/\(name).\(random)")
    }
    try scratch.write(Array("copy".utf8), to: "data/removed.json.bak")
    try await AdminRig.run(in: scratch, Self.configure) { admin in
      let names = try FileManager.default.contentsOfDirectory(atPath: scratch("data"))
      #expect(!names.contains { $0.hasSuffix(random) })
      #expect(names.contains("removed.json.bak"))
    }
  }

  @Test func `the erasure of an unknown user ends, and may be repeated`() async throws {
    try await AdminRig.run(in: try Scratch()) { admin in
      for _ in 0..<2 {
        let ended = try await admin.end(of: try await admin.erase("nobody"))
        #expect(ended.contains(#""messages":0,"records":0,"uploads":0,"failure":null"#))
      }
      #expect(
        try await admin.ask("GET", "jobs").body.matches(of: #/"state":"done"/#).count == 2)
      let unknown = try await admin.ask("GET", "jobs", "00000000-0000-0000-0000-000000000000")
      #expect(unknown.status == 404)
    }
  }

  @Test func `a user who goes on posting holds up nobody else's erasure`() async throws {
    try await AdminRig.run(in: try Scratch()) { admin in
      let token = try await admin.rig.token(Self.user)
      let client = try admin.rig.client()
      let poster = Task {
        while !Task.isCancelled { _ = try await client.post("again", token: token) }
      }
      _ = try await admin.erase(Self.user)
      _ = try await admin.end(of: try await admin.erase("ben"))
      poster.cancel()
      _ = await poster.result
      _ = try await admin.end(of: try await admin.erase(Self.user))
      #expect(try await Self.texts(admin.rig) == [])
    }
  }

  @Test func `a failure is told, and the erasure is tried again`() async throws {
    let log = MemoryMessageLog()
    let scratch = try Scratch()
    try await BackendRig.run(in: scratch("data"), store: log) {
      $0.admin = try? AdminAddress("unix:" + scratch("admin.sock"))
    } _: { rig in
      let admin = AdminRig(
        rig: rig, client: try AdminClient("unix:" + scratch("admin.sock")), scratch: scratch)
      let token = try await rig.token(Self.user)
      #expect(try await rig.client().post("text", token: token).status == 201)
      await log.failNext(1, with: .full(detail: "no room"))
      let ended = try await admin.end(of: try await admin.erase(Self.user))
      #expect(ended.contains(#""messages":1"#))
      await rig.lines.wait { $0.contains("no room") }
    }
  }

  @Test func `an erasure whose store hangs does not delay a drain, and ends with it`() async throws
  {
    let (relay, scratch) = (try EndlessRelayStore(of: Self.user), try Scratch())
    let place = "unix:" + scratch("admin.sock")
    let address = try AdminAddress(place)
    try await BackendRig.run(in: scratch("data"), relay: relay) {
      $0.admin = address
    } _: { rig in
      let follower = try await rig.follower("ben")
      _ = try await AdminClient(place).ask("DELETE", ["users", Self.user])
      while await relay.reads < 5 { await Task.yield() }
      await relay.hold()
      async let drained: Void = rig.backend.drainAndStop()
      #expect(try await follower.message() == .draining(within: .seconds(5)))
      let before = await relay.reads
      await relay.release()
      _ = try await follower.close()
      try await follower.answerClose(1001)
      await drained
      // The wait for the end of pairings is over, and not repeated without a pause.
      let after = await relay.reads
      #expect(after - before < 100)
    }
  }
}

/// A store of the relay that never removes the phone of a user.
private actor EndlessRelayStore: RelayStore {
  private let phone: StoredPhone
  private(set) var reads = 0
  private var isHeld = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(of user: String) throws {
    phone = StoredPhone(
      id: PhoneID(UUID128(high: 1, low: 1)), device: UUID128(high: 1, low: 2),
      resume: try #require(TokenHash([UInt8](repeating: 1, count: 32))),
      leftAt: Timestamp(nanoseconds: 0), synced: SyncedUser(user))
  }

  func hold() { isHeld = true }

  func release() {
    isHeld = false
    for each in waiting { each.resume() }
    waiting = []
  }

  func stored() async -> StoredRelay {
    if isHeld { await withCheckedContinuation { waiting.append($0) } }
    reads += 1
    var stored = StoredRelay()
    stored.phones = [phone]
    return stored
  }

  func apply(_ changes: [RelayChange]) {}
  func check() {}
  func close() {}
  func suspend() {}
  func resume() {}
}
