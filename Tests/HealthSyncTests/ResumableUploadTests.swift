import Testing

@testable import HoldfastUploads

/// Tests of the steps of a resumable upload, and of the reaction to each answer.
@Suite struct ResumableUploadTests {
  private static let url = "https://a.example/up?id=1"
  private static let size = 600_000
  private static let piece = ResumableUpload.mostPiece

  private static func begun(
    _ dialect: UploadDialect = .current, url: String? = nil
  ) -> ResumableUpload {
    ResumableUpload(size: size, UploadOffer(dialect), url: url)
  }

  private static func reply(
    _ status: Int, _ dialect: UploadDialect = .current, offset: Int? = nil,
    isComplete: Bool? = nil, url: String? = nil, isSuccess: Bool = true
  ) -> UploadReply {
    UploadReply(
      status, UploadFields(dialect, offset: offset, isComplete: isComplete), url: url,
      isSuccess: isSuccess)
  }

  /// Returns an upload whose next piece is the last one and has 100,000 bytes.
  private static func last(_ dialect: UploadDialect) -> ResumableUpload {
    var upload = begun(dialect, url: url)
    _ = upload.take(reply(204, dialect, offset: 500_000))
    return upload
  }

  /// In tus 1.0.0, the offset in the answer is the number of bytes that are stored. In the draft,
  /// an append that is answered with `Upload-Complete: ?0` is not the end.
  @Test(arguments: [UploadDialect.tus, .current, .iOS])
  func `a partly stored last piece continues at its offset and does not count as accepted`(
    dialect: UploadDialect
  ) {
    var upload = Self.last(dialect)
    let isComplete = dialect == .tus ? nil : false
    #expect(
      upload.take(Self.reply(204, dialect, offset: 550_000, isComplete: isComplete)) == .nothing)
    #expect(
      upload.step == .append(url: Self.url, from: 550_000, count: 50_000, isLast: true))
    let whole = Self.reply(
      204, dialect, offset: Self.size, isComplete: dialect == .tus ? nil : true)
    #expect(upload.take(whole) == .forget)
    #expect(upload.step == .ended(status: 204))
    #expect(upload.isStored)
  }

  @Test func `a partly stored middle piece continues at the server's offset`() {
    var upload = Self.begun()
    _ = upload.take(Self.reply(201, url: Self.url))
    _ = upload.take(Self.reply(204, offset: 200_000, isComplete: false))
    #expect(
      upload.step == .append(url: Self.url, from: 200_000, count: Self.piece, isLast: false))
  }

  @Test(arguments: [500_000, 500_001, 499_000, 0])
  func `a server that stores almost no bytes gets the payload in one request`(offset: Int) {
    var upload = Self.last(.tus)
    for _ in 1..<ResumableUpload.mostDetours {
      #expect(upload.take(Self.reply(204, .tus, offset: offset)) == .nothing)
      guard case .append(_, let from, _, _) = upload.step else {
        Issue.record("no piece is next")
        return
      }
      #expect(from == offset)
    }
    #expect(upload.take(Self.reply(204, .tus, offset: offset)) == .forget)
    #expect(upload.step == .whole)
  }

  @Test func `the client requests the offset if the server does not report it`() {
    var tus = Self.last(.tus)
    #expect(tus.take(Self.reply(204, .tus)) == .nothing)
    #expect(tus.step == .offset(url: Self.url))
    var draft = Self.begun()
    _ = draft.take(Self.reply(201, url: Self.url))
    #expect(draft.take(Self.reply(204)) == .nothing)
    #expect(draft.step == .offset(url: Self.url))
    var beyond = Self.last(.tus)
    #expect(beyond.take(Self.reply(204, .tus, offset: Self.size + 1)) == .forget)
    #expect(beyond.step == .create)
  }

  @Test func `an incomplete upload whose bytes are all stored ends with an empty last piece`() {
    var upload = Self.last(.current)
    _ = upload.take(Self.reply(204, offset: Self.size, isComplete: false))
    #expect(upload.step == .append(url: Self.url, from: Self.size, count: 0, isLast: true))
  }

  @Test func `an answer without upload fields to the draft's last piece ends the upload`() {
    var upload = Self.last(.current)
    #expect(upload.take(Self.reply(200)) == .forget)
    #expect(upload.step == .ended(status: 200))
  }

  @Test func `an answer that reports an unstored batch is not a success`() {
    var upload = Self.last(.current)
    #expect(
      upload.take(Self.reply(200, offset: Self.size, isComplete: true, isSuccess: false))
        == .nothing, "the next try requests the offset")
    #expect(upload.step == .ended(status: 200))
    #expect(!upload.isStored)
  }

  @Test func `a payload is sent in pieces to the URL that the server returns`() {
    var upload = Self.begun()
    #expect(upload.step == .create)
    #expect(upload.fields == UploadFields(.current, length: Self.size, isComplete: false).fields)
    #expect(upload.take(Self.reply(201, url: Self.url)) == .ticket(url: Self.url))
    var sent = 0
    for isLast in [false, false, true] {
      let count = isLast ? Self.size - 2 * Self.piece : Self.piece
      #expect(
        upload.step == .append(url: Self.url, from: sent, count: count, isLast: isLast))
      #expect(
        upload.fields == UploadFields(.current, offset: sent, isComplete: isLast).fields + [
          UploadField("Content-Type", "application/partial-upload")
        ])
      sent += count
      let reply = Self.reply(isLast ? 200 : 204, offset: sent, isComplete: isLast)
      #expect(upload.take(reply) == (isLast ? .forget : .nothing))
    }
    #expect(upload.step == .ended(status: 200))
  }

  @Test func `an attempt with a ticket requests the offset and continues there`() {
    for dialect in [UploadDialect.current, .iOS, .tus] {
      var upload = Self.begun(dialect, url: Self.url)
      #expect(upload.step == .offset(url: Self.url))
      #expect(upload.fields == dialect.fields)
      #expect(upload.take(Self.reply(204, dialect, offset: 500_000)) == .nothing)
      #expect(
        upload.step == .append(url: Self.url, from: 500_000, count: 100_000, isLast: true))
    }
  }

  @Test func `a resumed upload whose bytes are all stored is completed by an empty piece`() {
    var upload = Self.begun(url: Self.url)
    _ = upload.take(Self.reply(204, offset: Self.size, isComplete: false))
    #expect(upload.step == .append(url: Self.url, from: Self.size, count: 0, isLast: true))
    _ = upload.take(Self.reply(200, isComplete: true))
    #expect(upload.step == .ended(status: 200))
  }

  @Test(arguments: [
    reply(404), reply(410), reply(204, offset: size + 1), reply(204),
    reply(204, offset: size, isComplete: true), reply(200, .tus, offset: size),
  ])
  func `an unusable upload URL is forgotten, and the upload starts over`(answer: UploadReply) {
    var upload = Self.begun(answer.fields.dialect, url: Self.url)
    #expect(upload.take(answer) == .forget)
    #expect(upload.step == .create)
  }

  @Test(arguments: [400, 404, 405, 412, 413, 415, 501, 200])
  func `a server that returns no upload URL gets the payload in one request`(status: Int) {
    var upload = Self.begun()
    #expect(upload.take(Self.reply(status)) == .nothing)
    #expect(upload.step == .whole)
    #expect(!upload.isUnderstood)
  }

  @Test(arguments: [(199, false), (200, true), (299, true), (300, false)])
  func `an upload URL is used only if the status is a success`(status: Int, isUsed: Bool) {
    var upload = Self.begun()
    let update = upload.take(Self.reply(status, url: Self.url))
    #expect(update == (isUsed ? .ticket(url: Self.url) : .nothing))
    #expect(upload.isUnderstood == isUsed)
  }

  @Test(arguments: [(199, false), (200, true), (299, true), (300, false)])
  func `an upload continues at a reported offset only if the status is a success`(
    status: Int, isUsed: Bool
  ) {
    var upload = Self.begun(url: Self.url)
    #expect(upload.take(Self.reply(status, offset: 500_000)) == (isUsed ? .nothing : .forget))
    let append = ResumableUpload.Step.append(
      url: Self.url, from: 500_000, count: 100_000, isLast: true)
    #expect(upload.step == (isUsed ? append : .create))
  }

  @Test(arguments: [401, 408, 429, 500, 503])
  func `a temporary refusal ends the attempt and keeps the ticket`(status: Int) {
    var creating = Self.begun()
    #expect(creating.take(Self.reply(status)) == .nothing)
    #expect(creating.step == .ended(status: status))
    #expect(creating.isUnderstood)
    var asking = Self.begun(url: Self.url)
    #expect(asking.take(Self.reply(status)) == .nothing)
    #expect(asking.step == .ended(status: status))
    var appending = Self.begun()
    _ = appending.take(Self.reply(201, url: Self.url))
    #expect(appending.take(Self.reply(status)) == .nothing)
    #expect(appending.step == .ended(status: status))
  }

  @Test(arguments: [400, 409, 413, 422])
  func `a refusal of the complete payload is the final answer`(status: Int) {
    var upload = Self.begun(url: Self.url)
    _ = upload.take(Self.reply(204, offset: 599_999))
    #expect(upload.take(Self.reply(status, isComplete: true)) == .forget)
    #expect(upload.step == .ended(status: status))
  }

  @Test func `an upload continues at a corrected offset at most three times`() {
    var upload = Self.begun()
    _ = upload.take(Self.reply(201, url: Self.url))
    for offset in 1...ResumableUpload.mostDetours {
      #expect(upload.take(Self.reply(409, offset: offset)) == .nothing)
      guard case .append(_, let from, _, _) = upload.step else {
        Issue.record("no piece is next")
        return
      }
      #expect(from == offset)
    }
    #expect(upload.take(Self.reply(409, offset: 9)) == .forget)
    #expect(upload.step == .whole)
  }

  @Test func `an offset at the end of the payload continues with an empty last piece`() {
    var upload = Self.begun()
    _ = upload.take(Self.reply(201, url: Self.url))
    #expect(upload.take(Self.reply(409, offset: Self.size)) == .nothing)
    #expect(upload.step == .append(url: Self.url, from: Self.size, count: 0, isLast: true))
  }

  @Test func `a refusal of the last piece that does not concern the whole starts the upload over`()
  {
    var upload = Self.begun(url: Self.url)
    _ = upload.take(Self.reply(204, offset: Self.size - 1))
    #expect(upload.take(Self.reply(404)) == .forget)
    #expect(upload.step == .create)
  }

  @Test func `a conflict without a usable new offset starts the upload over`() {
    for offset in [nil, 0, Self.size + 1] {
      var upload = Self.begun()
      _ = upload.take(Self.reply(201, url: Self.url))
      #expect(upload.take(Self.reply(409, offset: offset)) == .forget)
      #expect(upload.step == .create)
    }
  }

  @Test func `a server that always loses the upload gets the payload in one request`() {
    var upload = Self.begun()
    var steps = 0
    while upload.step != .whole, steps < 20 {
      steps += 1
      _ = upload.take(upload.step == .create ? Self.reply(201, url: Self.url) : Self.reply(404))
    }
    #expect(steps == 2 * ResumableUpload.mostDetours)
    #expect(upload.isUnderstood)
  }

  @Test func `pieces and payloads stay within the server's limits`() {
    var upload = ResumableUpload(size: 10, UploadOffer(.current, maxSize: 10, maxAppend: 4))
    _ = upload.take(Self.reply(201, url: Self.url))
    #expect(upload.step == .append(url: Self.url, from: 0, count: 4, isLast: false))
    #expect(ResumableUpload(size: 11, UploadOffer(.current, maxSize: 10)).step == .whole)
    var tiny = ResumableUpload(size: 2, UploadOffer(.current, maxAppend: 0))
    _ = tiny.take(Self.reply(201, url: Self.url))
    #expect(tiny.step == .append(url: Self.url, from: 0, count: 1, isLast: false))
  }

  @Test func `a tus upload ends once the offset equals its size, without a completion field`() {
    var upload = ResumableUpload(size: 10, UploadOffer(.tus))
    #expect(upload.fields == UploadFields(.tus, length: 10).fields)
    _ = upload.take(Self.reply(201, .tus, url: Self.url))
    #expect(
      upload.fields == UploadFields(.tus, offset: 0).fields + [
        UploadField("Content-Type", "application/offset+octet-stream")
      ])
    #expect(upload.take(Self.reply(204, .tus, offset: 10)) == .forget)
    #expect(upload.step == .ended(status: 204))
  }
}
