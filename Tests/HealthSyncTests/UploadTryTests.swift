import HoldfastCore
import HoldfastSyncData
import HoldfastUploads
import Testing

@testable import HoldfastHealthSync

/// Tests of the requests of one try to upload a payload, and of the reaction to each answer.
@Suite struct UploadTryTests {
  private static let endpoint = "https://a.example/api/sync"
  private static let url = "https://a.example/up?id=1"
  private static let body = [UInt8](repeating: 7, count: 100)
  private static let packed = [UInt8](repeating: 8, count: 40)
  private static let offered = UploadSupport(resumption: .offered(UploadOffer(.current)))

  /// A try, and the upload support that the server has reported.
  private struct Harness {
    var upload: UploadTry
    var support: UploadSupport

    /// Creates a try.
    ///
    /// - Parameter resumesFrom: The minimum size of a resumable upload. With the default of 1,000
    ///   bytes, the payload is sent in one request.
    init(
      resumesFrom: Int = 1_000, _ support: UploadSupport = UploadSupport(),
      ticket: UploadTicket? = nil
    ) {
      self.support = support
      upload = UploadTry(
        UploadTryTests.body, to: UploadTryTests.endpoint, ticket: ticket, resumesFrom: resumesFrom,
        support)
    }

    @discardableResult
    mutating func answer(
      _ status: Int, _ headers: [String: String] = [:], _ body: String = ""
    ) -> UploadTry.TicketChange? {
      upload.take(
        .answer(UploadTryTests.answer(status, headers, body)), &support)
    }

    @discardableResult
    mutating func take(_ input: UploadTry.Input) -> UploadTry.TicketChange? {
      upload.take(input, &support)
    }

    /// The method of the current request and its number of bytes, followed by `+` if it uses gzip.
    var request: String? {
      guard case .send(let request) = upload.step else { return nil }
      let isGzip = request.fields.contains(UploadField("Content-Encoding", "gzip"))
      return "\(request.method) \(request.body.count)\(isGzip ? "+" : "")"
    }
  }

  private static func answer(
    _ status: Int, _ headers: [String: String] = [:], _ body: String = ""
  ) -> UploadAnswer {
    UploadAnswer(status, headers, Array(body.utf8), failure(status))
  }

  private static func failure(_ status: Int) -> LinkFailure {
    .http(status: status, retryAfter: nil, detail: "words")
  }

  private static func ticket(
    _ dialect: UploadDialect = .current, at url: String = url, of bytes: [UInt8] = body,
    isGzip: Bool = false
  ) -> UploadTicket {
    UploadTicket(dialect, url: url, of: bytes, isGzip: isGzip)
  }

  private static let options = Dictionary(
    uniqueKeysWithValues: UploadOffer.options(maxSize: 1_000_000).map {
      ($0.name.lowercased(), $0.value)
    })

  // MARK: In one request

  @Test func `a payload below the limit is sent in one request without an OPTIONS request`() {
    let harness = Harness()
    #expect(harness.upload.step == .send(UploadRequest("POST", Self.endpoint, [], Self.body)))
    #expect(harness.upload.piece == nil)
  }

  @Test(arguments: [
    (200, "", true), (299, #"{"success":true}"#, true), (200, #"{"success":false}"#, false),
    (200, "<html>", false), (199, "", false), (300, "", false), (401, "", false), (413, "", false),
    (500, "", false),
  ])
  func `the status and body of an answer decide whether the payload is accepted`(
    status: Int, body: String, isAccepted: Bool
  ) {
    var harness = Harness()
    harness.answer(status, ["sync-epoch": "e1"], body)
    let refused = UploadTry.Step.ended(.failed(Self.failure(status)), epoch: nil)
    #expect(harness.upload.step == (isAccepted ? .ended(.accepted, epoch: "e1") : refused))
  }

  @Test func `a failed request ends the attempt`() {
    var harness = Harness()
    #expect(harness.take(.failed(.reset)) == nil)
    #expect(harness.upload.step == .ended(.failed(.reset), epoch: nil))
  }

  @Test func `results of other steps change nothing`() {
    var harness = Harness()
    let before = harness.upload
    harness.take(.compressed([1]))
    #expect(harness.upload == before)
    harness.answer(200)
    let ended = harness.upload
    harness.answer(500)
    harness.take(.failed(.reset))
    harness.take(.compressed(nil))
    #expect(harness.upload == ended)
  }

  // MARK: Compression

  @Test func `a payload is compressed for a server that takes gzip`() {
    var harness = Harness(UploadSupport(takesGzip: true))
    #expect(harness.upload.step == .compress)
    harness.take(.compressed(Self.packed))
    #expect(harness.request == "POST 40+")
    harness.answer(200)
    #expect(harness.upload.step == .ended(.accepted, epoch: nil))
  }

  @Test(arguments: [nil, body, body + [1]] as [[UInt8]?])
  func `a payload that compression does not shrink is sent uncompressed`(packed: [UInt8]?) {
    var harness = Harness(UploadSupport(takesGzip: true))
    harness.take(.compressed(packed))
    #expect(harness.request == "POST 100")
  }

  @Test func `a refused gzip coding is remembered, and the payload is sent uncompressed`() {
    var harness = Harness(UploadSupport(takesGzip: true))
    harness.take(.compressed(Self.packed))
    harness.answer(415)
    #expect(harness.request == "POST 100")
    #expect(harness.support.takesGzip == false)
    harness.answer(415)
    #expect(harness.upload.step == .ended(.failed(Self.failure(415)), epoch: nil))
  }

  @Test func `an HTML page with status 415 also refuses the gzip coding`() {
    var harness = Harness(UploadSupport(takesGzip: true))
    harness.take(.compressed(Self.packed))
    harness.take(.failed(Self.failure(415)))
    #expect(harness.request == "POST 100")
  }

  @Test func `a gzip coding refused for a piece starts a new upload of the uncompressed payload`() {
    let support = UploadSupport(resumption: Self.offered.resumption, takesGzip: true)
    var harness = Harness(
      resumesFrom: 10, support, ticket: Self.ticket(of: Self.packed, isGzip: true))
    harness.take(.compressed(Self.packed))
    #expect(harness.request == "HEAD 0")
    harness.answer(204, ["upload-offset": "30", "upload-complete": "?0"])
    #expect(harness.request == "PATCH 10")
    #expect(harness.answer(415, ["upload-complete": "?1"]) == .forget)
    #expect(harness.request == "POST 0", "the ticket was for the compressed payload")
    #expect(harness.support.takesGzip == false)
  }

  @Test func `tus uses no gzip, and a compressed payload below the limit is sent in one request`() {
    let tus = UploadSupport(resumption: .offered(UploadOffer(.tus)), takesGzip: true)
    #expect(Harness(resumesFrom: 10, tus).request == "POST 0")
    let draft = UploadSupport(resumption: .offered(UploadOffer(.current)), takesGzip: true)
    var harness = Harness(resumesFrom: 41, draft)
    harness.take(.compressed(Self.packed))
    #expect(harness.request == "POST 40+")
  }

  // MARK: The offer

  @Test func `an OPTIONS request without the secret finds out once how uploads resume`() {
    var harness = Harness(resumesFrom: 100)
    let question = UploadRequest("OPTIONS", Self.endpoint, showsSecret: false)
    #expect(harness.upload.step == .send(question))
    harness.answer(204, Self.options)
    #expect(harness.support.resumption == .offered(UploadOffer(.current, maxSize: 1_000_000)))
    #expect(harness.request == "POST 0")
    #expect(Harness(resumesFrom: 100, harness.support).request == "POST 0")
    #expect(Harness(resumesFrom: 101).request == "POST 100")
  }

  @Test(arguments: [200, 404, 405, 501])
  func `a server without resumable uploads gets the payload in one request`(status: Int) {
    var harness = Harness(resumesFrom: 10)
    harness.answer(status)
    #expect(harness.request == "POST 100")
    #expect(harness.support.resumption == .absent)
  }

  @Test(
    arguments: [
      (LinkFailure.reset, nil), (.captivePortal, nil), (failure(502), nil), (failure(404), .absent),
      (failure(200), .absent),
    ] as [(LinkFailure, UploadSupport.Resumption?)])
  func `a failed OPTIONS request leaves support unknown, and an HTML page means no support`(
    failure: LinkFailure, known: UploadSupport.Resumption?
  ) {
    var harness = Harness(resumesFrom: 10)
    harness.take(.failed(failure))
    #expect(harness.support.resumption == known)
    #expect(harness.request == "POST 100")
  }

  @Test(arguments: [
    UploadTry.Input.failed(.reset), .answer(answer(502)), .answer(answer(429)),
  ])
  func `an upload resumes from its ticket if the OPTIONS request has no usable answer`(
    input: UploadTry.Input
  ) {
    var plain = Harness(resumesFrom: 10, ticket: Self.ticket(.tus))
    plain.take(input)
    #expect(plain.upload.dialect == .tus)
    #expect(plain.request == "HEAD 0")
    var gzip = Harness(resumesFrom: 10, ticket: Self.ticket(of: Self.packed, isGzip: true))
    gzip.take(input)
    #expect(gzip.upload.step == .compress)
    gzip.take(.compressed(Self.packed))
    #expect(gzip.request == "HEAD 0")
    gzip.answer(204, ["upload-offset": "7", "upload-complete": "?0"])
    #expect(gzip.request == "PATCH 33")
  }

  @Test func `a server that refuses to create an upload counts as without resumable uploads`() {
    var harness = Harness(resumesFrom: 10, Self.offered)
    harness.answer(404)
    #expect(harness.support.resumption == .absent)
    #expect(harness.request == "POST 100")
  }

  @Test func `a payload above the offered maximum is sent in one request, and the offer is kept`() {
    let small = UploadSupport(resumption: .offered(UploadOffer(.current, maxSize: 99)))
    let harness = Harness(resumesFrom: 10, small)
    #expect(harness.request == "POST 100")
    #expect(harness.support == small)
  }

  // MARK: Tickets

  @Test func `a ticket is stored before the first piece and forgotten after the last`() {
    let offer = UploadOffer(.current, maxAppend: 60)
    var harness = Harness(resumesFrom: 10, UploadSupport(resumption: .offered(offer)))
    #expect(harness.answer(201, ["location": "/up?id=1"]) == .store(Self.ticket(at: "/up?id=1")))
    #expect(harness.request == "PATCH 60")
    #expect(harness.answer(204, ["upload-offset": "60", "upload-complete": "?0"]) == nil)
    #expect(harness.request == "PATCH 40")
    #expect(harness.answer(200, ["upload-complete": "?1", "sync-epoch": "e2"]) == .forget)
    #expect(harness.upload.step == .ended(.accepted, epoch: "e2"))
  }

  @Test func `a cut connection keeps the ticket for the next attempt`() {
    var harness = Harness(resumesFrom: 10, Self.offered, ticket: Self.ticket())
    #expect(harness.request == "HEAD 0")
    harness.answer(204, ["upload-offset": "70", "upload-complete": "?0"])
    #expect(harness.request == "PATCH 30")
    #expect(harness.take(.failed(.ended)) == nil)
    #expect(harness.upload.step == .ended(.failed(.ended), epoch: nil))
  }

  @Test(arguments: [
    ticket(.tus), ticket(isGzip: true), ticket(of: packed), ticket(of: packed + packed + [1]),
  ])
  func `a ticket of another protocol, coding or payload is not used`(ticket: UploadTicket) {
    let plain = UploadSupport(resumption: Self.offered.resumption, takesGzip: false)
    #expect(Harness(resumesFrom: 10, plain, ticket: ticket).request == "POST 0")
  }

  @Test(arguments: [
    ("/up?id=1", true), ("https://a.example/up?id=1", true), ("https://a.example/", true),
    ("https://old.example/up?id=1", false), ("http://a.example/up?id=1", false),
    ("https://a.example:444/up?id=1", false), ("https://a.example.old/up?id=1", false),
    ("https://a.example@old.example/up", false), ("https://a.example", false),
    ("//old.example/up?id=1", false), ("up?id=1", false), ("/up\\id", false), ("", false),
  ])
  func `an upload resumes on the server of the endpoint alone`(url: String, isUsed: Bool) {
    let harness = Harness(resumesFrom: 10, Self.offered, ticket: Self.ticket(at: url))
    guard case .send(let request) = harness.upload.step else {
      Issue.record("\(harness.upload.step)")
      return
    }
    #expect(request.method == (isUsed ? "HEAD" : "POST"))
    #expect(request.url.hasPrefix("https://a.example/"))
  }

  @Test(arguments: [
    "https://old.example/up?id=1", "//old.example/up", "https://a.example.old/up",
    "http://a.example/up",
  ])
  func `a location on another server is not followed`(location: String) {
    var harness = Harness(resumesFrom: 10, Self.offered)
    #expect(harness.answer(201, ["location": location]) == nil)
    guard case .send(let request) = harness.upload.step else {
      Issue.record("\(harness.upload.step)")
      return
    }
    #expect(request == UploadRequest("POST", Self.endpoint, [], Self.body))
  }

  @Test(arguments: ["/up?id=1", "https://a.example/up?id=1"])
  func `a ticket names no server`(location: String) {
    var harness = Harness(resumesFrom: 10, Self.offered)
    let change = harness.answer(201, ["location": location])
    #expect(change == .store(Self.ticket(at: "/up?id=1")))
    let elsewhere = Self.ticket(at: "/up?id=1").url(at: "https://b.example/x")
    #expect(elsewhere == "https://b.example/up?id=1")
  }

  @Test(arguments: [404, 410])
  func `an expired ticket is forgotten, and the upload begins anew`(status: Int) {
    var harness = Harness(resumesFrom: 10, Self.offered, ticket: Self.ticket())
    #expect(harness.answer(status) == .forget)
    #expect(harness.request == "POST 0")
  }

  @Test func `a complete upload of an unstored batch is not a success and keeps the ticket`() {
    var harness = Harness(resumesFrom: 10, Self.offered, ticket: Self.ticket())
    harness.answer(204, ["upload-offset": "0", "upload-complete": "?0"])
    #expect(harness.answer(200, ["upload-complete": "?1"], #"{"success":false}"#) == nil)
    #expect(harness.upload.step == .ended(.failed(Self.failure(200)), epoch: nil))
  }

  // MARK: Identity and secret

  @Test(
    arguments: [
      (200, #"{"epoch":"e1"}"#, "e1"), (200, "", nil), (404, #"{"epoch":"e1"}"#, nil),
    ] as [(Int, String, String?)])
  func `a server is identified by its URL and the epoch it reports`(
    status: Int, body: String, epoch: String?
  ) {
    var support = UploadSupport()
    let identity = support.identified(Self.answer(status, [:], body), server: "s")
    #expect(identity == .success(SyncIdentity(SyncOwner(server: "s", epoch: epoch))))
    #expect(support.takesGzip == false)
  }

  @Test(arguments: [(401, ""), (503, ""), (429, ""), (200, #"{"success":false}"#)])
  func `a temporary failure does not identify the server`(status: Int, body: String) {
    var support = UploadSupport(takesGzip: true)
    let answer = Self.answer(status, ["accept-encoding": "br"], body)
    #expect(support.identified(answer, server: "s") == .failure(Self.failure(status)))
    #expect(support.takesGzip == true)
  }

  @Test(arguments: [
    ("gzip", true), ("br, GZIP;q=0.5", true), ("br,gzip ; q=1", true), ("gzip;q=0", false),
    ("br", false), ("", false), ("xgzip", false),
  ])
  func `gzip is used only if the server offers it`(offer: String, isTaken: Bool) {
    var support = UploadSupport()
    _ = support.identified(Self.answer(200, ["accept-encoding": offer]), server: "s")
    #expect(support.takesGzip == isTaken)
  }

  @Test func `a secret counts as new unless the server refused it`() {
    var secret = UploadSecret("old")
    func renewed(_ value: String) -> Bool { secret.renew(value) }
    #expect(renewed("old"), "the server did not refuse it")
    secret.note(Self.failure(403), of: "old")
    secret.note(.reset, of: "old")
    #expect(renewed("old"))
    secret.note(Self.failure(401), of: "old")
    #expect(!renewed("old"))
    #expect(renewed("new"))
    #expect(secret.current == "new")
    #expect(UploadSecret<String>().current == nil)
  }
}
