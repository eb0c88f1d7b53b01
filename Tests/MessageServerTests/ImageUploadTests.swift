import HoldfastCore
import HoldfastIdentity
import HoldfastMessageData
import HoldfastServerFixtures
import HoldfastTestKit
import HoldfastUploads
import Testing

@testable import HoldfastMessageServer
@testable import HoldfastServerParts

/// Tests of images that are sent in pieces, and of what the server does at its own times.
@Suite struct ImageUploadTests {
  private static let record = UploadRecord(
    user: "ann", length: 10, isGzip: false, target: "bakery")

  /// Returns a harness with an upload that holds 4 bytes.
  private static func begun(
    _ dialect: UploadDialect = .current,
    _ configure: (inout ShopServerPolicy) -> Void = { _ in }
  ) -> ImageStage {
    var stage = ImageStage(removed: [], configure)
    let effects = stage.ask(
      ImageStage.piece("POST", [1, 2, 3, 4], length: 10, isComplete: false, dialect))
    #expect(
      effects == [.upload(.write(StoreToken(2), ImageStage.name, record, at: 0, [1, 2, 3, 4]))])
    let answer = stage.done(.written(4)).answer
    #expect(answer?.status == 201)
    #expect(
      answer?.field("Location") == "\(ImageRoute.upload.path)?id=\(ImageStage.name)")
    #expect(answer?.field("Upload-Offset") == "4")
    return stage
  }

  @Test func `the last piece stores the image`() {
    var stage = Self.begun()
    #expect(stage.ask(ImageStage.piece("HEAD")).answer?.field("Upload-Offset") == "4")
    let rest: [UInt8] = [5, 6, 7, 8, 9, 10]
    let effects = stage.ask(ImageStage.piece("PATCH", rest, offset: 4, isComplete: true))
    #expect(effects == [.upload(.finish(StoreToken(3), ImageStage.name, Self.record, at: 4, rest))])
    let stored = stage.done(.stored(ImageStage.image(isClaimed: false)))
    #expect(stored.contains(.upload(.forget(ImageStage.name))))
    let answer = stored.filter { if case .answer = $0 { true } else { false } }.answer
    #expect(answer?.status == 200)
    #expect(answer?.field("Upload-Complete") == "?1")
    #expect(answer?.text.contains(#""file_extension":"png""#) == true)
    #expect(stage.ask(ImageStage.piece("HEAD")).answer?.status == 404)
  }

  @Test func `the last piece of tus is answered with the address`() {
    var stage = Self.begun(.tus)
    _ = stage.ask(ImageStage.piece("PATCH", [UInt8](repeating: 0, count: 6), offset: 4, .tus))
    let stored = stage.done(.stored(ImageStage.image()))
    let answer = stored.filter { if case .answer = $0 { true } else { false } }.answer
    #expect(answer?.status == 204)
    #expect(answer?.field("Upload-Offset") == "10")
    #expect(
      answer?.field("Content-Location") == "http://localhost"
        + ImageRoute.image(ImageStage.name).path)
  }

  @Test(
    arguments: [
      (.unknownType, 415, true), (.tooMany(wait: .zero), 429, false),
      (.unfinished(10, .full(detail: "x")), 503, false), (.failed(.full(detail: "x")), 503, false),
    ] as [(ImageOutcome, Int, Bool)])
  func `an upload whose image was not stored can be completed again`(
    _ outcome: ImageOutcome, _ status: Int, _ isOver: Bool
  ) {
    var stage = Self.begun()
    let rest = [UInt8](repeating: 0, count: 6)
    _ = stage.ask(ImageStage.piece("PATCH", rest, offset: 4, isComplete: true))
    let effects = stage.done(outcome)
    let answer = effects.filter { if case .answer = $0 { true } else { false } }.answer
    #expect(answer?.status == status)
    #expect(effects.contains(.upload(.forget(ImageStage.name))) == isOver)
    let state = stage.ask(ImageStage.piece("HEAD")).answer
    #expect(state?.status == (isOver ? 404 : 204))
    guard case .failed = outcome else {
      #expect(state?.field("Upload-Offset") == (isOver ? nil : "10"))
      return
    }
    #expect(state?.field("Upload-Offset") == "4")
  }

  @Test func `another user knows nothing of an upload`() {
    var stage = Self.begun()
    for method in ["HEAD", "PATCH", "DELETE"] {
      let call = ImageStage.piece(method, offset: 4, isComplete: false)
      #expect(stage.ask(call, ImageStage.token("ben")).answer?.status == 404)
    }
  }

  @Test func `a removed member neither sees nor continues an upload`() {
    var stage = Self.begun()
    let removal = Membership(shop: Stage.shop, user: "ann")
    let calls = [
      ImageStage.piece("HEAD"), ImageStage.piece("PATCH", [5], offset: 4, isComplete: false),
      ImageStage.piece("DELETE"),
    ]
    _ = stage.feed(.removals([removal]))
    for call in calls {
      let answer = stage.ask(call).answer
      #expect(answer?.status == 403)
      #expect(answer?.text.contains("not a member of this shop") == true)
    }
    #expect(
      stage.feed(.announced(RequestID(90), calls[1], ImageStage.token(), wall: Stage.dawn)) == [])
    #expect(stage.feed(.cut(RequestID(90), calls[1])) == [])
    _ = stage.feed(.removals([]))
    #expect(stage.ask(calls[0]).answer?.field("Upload-Offset") == "4")
  }

  @Test func `a member who is removed while requests wait is refused`() {
    var stage = Self.begun()
    _ = stage.ask(ImageStage.piece("PATCH", [5], offset: 4, isComplete: false))
    #expect(stage.ask(ImageStage.piece("HEAD")) == [])
    #expect(stage.ask(ImageStage.piece("HEAD")) == [])
    _ = stage.feed(.removals([Membership(shop: Stage.shop, user: "ann")]))
    let statuses = stage.done(.written(5)).compactMap { effect in
      if case .answer(_, let answer) = effect { answer.status } else { nil }
    }
    #expect(statuses == [204, 403, 403])
  }

  @Test(arguments: [false, true])
  func `uploads that are announced count in the rate, completed or cut`(_ isCut: Bool) {
    var stage = ImageStage { $0.postBurst = 2 }
    for number in 0..<3 as Range<UInt64> {
      var call = ImageStage.piece("POST", length: 10, isComplete: true)
      call.candidate = UUID128(high: 5, low: number)
      let id = RequestID(90 + number)
      let effects = stage.feed(.announced(id, call, ImageStage.token(), wall: Stage.dawn))
      #expect(effects.count == (number < 2 ? 1 : 0))
      call.body = ImageStage.png
      let input: ImageServer.Input =
        isCut ? .cut(id, call) : .request(id, call, ImageStage.token(), wall: Stage.dawn)
      let answer = stage.feed(input).answer
      #expect(answer?.status == (isCut || number < 2 ? nil : 429))
    }
    #expect(stage.ask(ImageStage.upload()).answer?.status == 429)
  }

  @Test func `pieces that are cut count in the rate`() {
    var stage = Self.begun { $0.postBurst = 3 }
    for number in 0..<3 {
      var call = ImageStage.piece("PATCH", offset: 4 + number, isComplete: false)
      let id = RequestID(UInt64(90 + number))
      _ = stage.feed(.announced(id, call, ImageStage.token(), wall: Stage.dawn))
      call.body = [1]
      // The first of three was the creation.
      #expect(stage.feed(.cut(id, call)).count == (number < 2 ? 1 : 0))
      if number < 2 { _ = stage.done(.written(5 + number)) }
    }
    #expect(stage.ask(ImageStage.piece("HEAD")).answer?.field("Upload-Offset") == "6")
  }

  @Test(arguments: [(109, false), (110, true), (111, true)])
  func `an image is stored if it leaves enough space`(_ free: Int, _ isTaken: Bool) {
    var stage = ImageStage()
    #expect(stage.feed(.disk(DiskSpace(free: free, total: 1_000))) == [])
    let answer = stage.ask(ImageStage.upload()).answer
    #expect(answer?.status == (isTaken ? nil : 503))
    #expect(answer?.field("Retry-After") == (isTaken ? nil : "30"))
    #expect(answer?.text.contains("The server's disk is almost full") != isTaken)
    guard isTaken else { return }
    #expect(stage.ask(ImageStage.upload()).answer?.status == 503)
    _ = stage.done(.stored(ImageStage.image()))
    #expect(stage.ask(ImageStage.upload()).answer?.status == 503)
    _ = stage.feed(.disk(DiskSpace(free: 110, total: 1_000)))
    #expect(stage.ask(ImageStage.upload()).answer == nil)
  }

  @Test(arguments: [0, 1, 7_200])
  func `too many unclaimed images are refused until the oldest expires`(_ wait: Int) {
    var stage = ImageStage()
    _ = stage.ask(ImageStage.upload())
    let answer = stage.done(.tooMany(wait: .seconds(wait))).answer
    #expect(answer?.status == 429)
    #expect(answer?.field("Retry-After") == "\(wait + 1)")
    // The hourly removal may be earlier.
    let due = min(Duration.seconds(3_600), .seconds(wait) + .milliseconds(1))
    #expect(stage.server.deadline == stage.now.advanced(by: due))
  }

  @Test(arguments: [5_242_880, 5_242_881]) func `an upload has the size of an image`(_ count: Int) {
    var stage = ImageStage()
    let call = ImageStage.piece("POST", length: count, isComplete: false)
    #expect(stage.ask(call).answer?.status == (count > 5_242_880 ? 413 : nil))
  }

  @Test(arguments: [nil, "cellar", "a b"] as [String?])
  func `an upload is begun by a member of its shop`(_ shop: String?) {
    var stage = ImageStage()
    var call = ImageStage.piece("POST", length: 10, isComplete: false)
    call.shop = shop
    #expect(stage.feed(.announced(RequestID(90), call, ImageStage.token(), wall: Stage.dawn)) == [])
    #expect(stage.ask(call).answer?.status == (shop == "cellar" ? 403 : 400))
  }

  @Test func `the received part of a body that was cut is kept`() {
    var stage = ImageStage()
    var call = ImageStage.piece("POST", length: 10, isComplete: true)
    let informed = stage.feed(
      .announced(RequestID(90), call, ImageStage.token(), wall: Stage.dawn))
    guard case .upload(.inform(RequestID(90), let fields))? = informed.first else {
      Issue.record("the client does not know its upload: \(informed)")
      return
    }
    #expect(fields.contains { $0.name == "Location" })
    call.body = [1, 2, 3]
    let effects = stage.feed(.cut(RequestID(90), call))
    #expect(
      effects == [.upload(.write(StoreToken(2), ImageStage.name, Self.record, at: 0, [1, 2, 3]))])
    _ = stage.done(.written(3))
    #expect(stage.ask(ImageStage.piece("HEAD")).answer?.field("Upload-Offset") == "3")
  }

  @Test func `a complete body that was announced is stored as one`() {
    var stage = ImageStage()
    var call = ImageStage.piece("POST", length: 10, isComplete: true)
    _ = stage.feed(.announced(RequestID(1), call, ImageStage.token(), wall: Stage.dawn))
    call.body = ImageStage.png
    let effects = stage.ask(call)
    #expect(
      effects == [
        .store(
          StoreToken(2), ImageStage.name, Stage.shop, user: "ann", .png, ImageStage.png)
      ])
    #expect(
      stage.done(.stored(ImageStage.image())).answer?.field("Upload-Complete") == "?1")
    #expect(stage.server.uploads.all.isEmpty)
  }

  @Test func `the protocols of uploads are offered without a token`() {
    var stage = ImageStage()
    let answer = stage.ask(ImageCall("OPTIONS", .upload), .missing).answer
    #expect(answer?.status == 204)
    #expect(answer?.field("Tus-Max-Size") == "5242880")
    #expect(answer?.field("Accept-Patch") == "application/partial-upload")
    var other = ImageStage.piece("HEAD")
    other.speaksOtherTus = true
    #expect(stage.ask(other).answer?.status == 412)
  }

  @Test func `old images are removed every hour`() {
    var stage = ImageStage()
    #expect(stage.server.deadline == stage.now.advanced(by: .seconds(3_600)))
    stage.now = stage.now.advanced(by: .seconds(3_599))
    #expect(stage.tick() == [])
    stage.now = stage.now.advanced(by: .seconds(1))
    #expect(stage.tick() == [.clean(StoreToken(2), age: .seconds(86_400))])
    #expect(stage.server.deadline == nil)
    stage.now = stage.now.advanced(by: .seconds(9_000))
    #expect(stage.tick() == [])
    _ = stage.feed(.done(StoreToken(2), .failed(.full(detail: "x"))))
    #expect(stage.server.serviceHealth != .ok)
    #expect(stage.tick() == [.clean(StoreToken(3), age: .seconds(86_400))])
  }

  @Test func `an unfinished upload of an earlier process goes on for a day`() {
    var stage = ImageStage()
    let stored = StoredUpload(
      id: ImageStage.name, record: Self.record, offset: 4, age: .seconds(86_000))
    _ = stage.feed(.restored([stored]))
    #expect(stage.ask(ImageStage.piece("HEAD")).answer?.field("Upload-Offset") == "4")
    stage.now = stage.now.advanced(by: .seconds(400))
    #expect(stage.tick() == [.upload(.forget(ImageStage.name))])
  }

  @Test func `a drain refuses new work and ends with the old work`() {
    var stage = ImageStage()
    _ = stage.ask(ImageStage.get())
    #expect(stage.feed(.drain(within: .seconds(5))) == [])
    let answer = stage.ask(ImageStage.upload()).answer
    #expect(answer?.status == 503)
    #expect(answer?.field("Retry-After") == "5")
    let effects = stage.done(.found(nil))
    #expect(effects.last == .finished)
    #expect(effects.count == 2)
    #expect(stage.server.isFinished)
    #expect(stage.server.deadline == nil)
  }

  @Test func `a drain gives up at its limit`() {
    var stage = ImageStage()
    _ = stage.ask(ImageStage.upload())
    _ = stage.feed(.drain(within: .seconds(5)))
    stage.now = stage.now.advanced(by: .seconds(10))
    let effects = stage.tick()
    guard case .answer(_, let answer)? = effects.first else {
      Issue.record("no answer at the limit: \(effects)")
      return
    }
    #expect(answer.status == 503)
    #expect(effects.last == .finished)
  }
}
