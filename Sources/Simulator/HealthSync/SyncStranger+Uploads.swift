import LinkCore
import LinkServerCore
import LinkWire

// Uploads of a client of another make, in every protocol.
extension SyncStranger {
  /// The words of a protocol: an interop version of the draft, or 0 for tus.
  private struct Words {
    let version: Int

    /// The fields of a request; draft 3 says whether it is incomplete.
    func fields(offset: Int? = nil, length: Int? = nil, ends: Bool? = nil) -> [String: String] {
      var fields =
        version == 0
        ? ["tus-resumable": "1.0.0", "content-type": "application/offset+octet-stream"]
        : [
          "upload-draft-interop-version": "\(version)",
          "content-type": "Application/Partial-Upload ; x=1",
        ]
      fields["upload-offset"] = offset.map { "\($0)" }
      fields["upload-length"] = length.map { "\($0)" }
      if let ends, version > 0 { fields[name] = said(ends) }
      return fields
    }

    var name: String { version == 3 ? "upload-incomplete" : "upload-complete" }

    func said(_ ends: Bool) -> String { ends == (version == 3) ? "?0" : "?1" }

    /// The fields of an answer about an upload with so many bytes.
    func told(_ offset: Int) -> [String: String?] {
      var fields: [String: String?] = ["upload-offset": "\(offset)"]
      fields["tus-resumable"] = .some(version == 0 ? "1.0.0" : nil)
      fields["upload-draft-interop-version"] = .some(version == 0 ? nil : "\(version)")
      if version > 0 { fields[name] = .some(said(false)) }
      return fields
    }
  }

  private static let most = 4_194_304

  private mutating func words() -> Words { Words(version: [0, 3, 4, 5, 6, 7, 8][number(0...6)]) }

  private mutating func create(
    _ words: Words, _ body: [UInt8], length: Int?, _ more: [String: String] = [:]
  ) -> (id: UUID128, answer: SyncAnswer?) {
    let id = newName()
    let fields = words.fields(length: length, ends: false).merging(more) { $1 }
    return (
      id, desk.ask(call("POST", .sync, body: body, fields, candidate: id), of: user)
    )
  }

  private mutating func head(_ words: Words, _ id: UUID128, _ offset: Int?, _ what: String) {
    let answer = desk.ask(call("HEAD", .upload, words.fields(), id: id), of: user)
    if let offset {
      expect(answer, words.version == 0 ? 200 : 204, words.told(offset), what)
    } else {
      expect(answer, 404, what)
    }
  }

  mutating func tryUpload() {
    let words = words()
    let batch = SyncStrangeBatch(number(1...4), number(0...2), at: number(0...1 << 30))
    let isGzip = happens()
    let body = isGzip ? SyncRequest.packed(batch.body) : batch.body
    let length = words.version == 0 || happens() ? body.count : nil
    let first = number(0...body.count - 1)
    let coding = isGzip ? ["content-encoding": "gzip"] : [:]
    let (id, created) = create(words, Array(body[..<first]), length: length, coding)
    var told = words.told(first)
    told["location"] = "/api/sync/upload?id=\(id)"
    told["upload-limit"] = "max-size=4194304, max-age=86400"
    expect(created, 201, told, "a creation in \(words.version)")
    let seconds = number(1...80_000)
    desk.now = desk.now.advanced(by: .seconds(seconds))
    let state = desk.ask(call("HEAD", .upload, words.fields(), id: id), of: user)
    expect(
      state, words.version == 0 ? 200 : 204,
      [
        "upload-limit": "max-size=4194304, max-age=\(86_400 - seconds)",
        "upload-length": length.map { "\($0)" }, "cache-control": "no-store",
      ], "the state of an upload")
    refuse(words, id, first, length, body.count)
    let middle = number(first...body.count)
    let more = desk.ask(
      call(
        "PATCH", .upload, body: Array(body[first..<middle]),
        words.fields(offset: first, ends: false), id: id), of: user)
    if words.version > 0 || middle < body.count {
      expect(more, 204, words.told(middle), "a piece")
      finish(words, id, Array(body[middle...]), from: middle)
    } else {
      expect(more, 204, ["upload-offset": "\(body.count)"], "the last piece of tus")
    }
    expect(desk.files[id] == nil, "the bytes of a complete upload are there")
    expect(
      desk.kept.places(of: user.name).count == batch.records + batch.workouts,
      "an upload is not stored")
    head(words, id, nil, "a complete upload")
  }

  private mutating func finish(
    _ words: Words, _ id: UUID128, _ rest: [UInt8], from offset: Int
  ) {
    if happens() {
      desk.failure = .full(detail: "")
      let failed = desk.ask(
        call("PATCH", .upload, body: rest, words.fields(offset: offset, ends: true), id: id),
        of: user)
      expect(failed, 503, ["retry-after": "30"], "a full store")
      desk.failure = nil
      let end = offset + rest.count
      head(words, id, end, "an upload that could not be stored")
      desk.ask(call("PATCH", .upload, words.fields(offset: end, ends: true), id: id), of: user)
      return
    }
    let answer = desk.ask(
      call("PATCH", .upload, body: rest, words.fields(offset: offset, ends: true), id: id),
      of: user)
    if words.version == 0 {
      expect(answer, 204, ["upload-offset": "\(offset + rest.count)"], "the end of tus")
    } else {
      expect(answer, 200, [words.name: words.said(true)], "the end of an upload")
    }
  }

  /// Requests that change nothing.
  private mutating func refuse(
    _ words: Words, _ id: UUID128, _ offset: Int, _ length: Int?, _ size: Int
  ) {
    func patch(_ fields: [String: String], of id: UUID128) -> SyncReceivedRequest {
      call("PATCH", .upload, body: [1], fields, id: id)
    }
    let other = offset + (happens() || offset == 0 ? 1 : -1)
    expect(
      desk.ask(patch(words.fields(offset: other, ends: false), of: id), of: user), 409,
      words.told(offset), "another offset")
    expect(desk.ask(patch(words.fields(ends: false), of: id), of: user), 400, "no offset")
    for ends in ["?1", "?0"] where words.version > 0 {
      var odd = words.fields(offset: offset)
      odd["content-type"] = "text/plain"
      odd[words.name] = ends
      guard words.version >= 6 else { continue }
      expect(desk.ask(patch(odd, of: id), of: user), 415, "another media type")
    }
    let others = SyncUser("another")
    expect(
      desk.ask(patch(words.fields(offset: offset, ends: false), of: id), of: others), 404,
      "an upload of another user")
    expect(
      desk.ask(patch(words.fields(offset: 0, ends: false), of: newName()), of: user), 404,
      "an unknown upload")
    head(words, id, offset, "an upload after refusals")
  }

  // Bounds.

  mutating func tryLimits() {
    let words = words()
    expect(create(words, [], length: Self.most + 1).answer, 413, "an upload that is too large")
    let (large, answer) = create(words, [], length: Self.most)
    expect(answer, 201, "the largest upload")
    expect(
      desk.ask(call("DELETE", .upload, words.fields(), id: large), of: user), 204, "a deletion")
    head(words, large, nil, "a deleted upload")
    if words.version == 0 {
      expect(create(words, [], length: nil).answer, 400, "tus without a length")
    }
    let size = number(2...9)
    expect(
      create(words, Array(repeating: 1, count: size + 1), length: size).answer, 400, "too much")
    let (id, _) = create(words, [1], length: size)
    let over = call(
      "PATCH", .upload, body: Array(repeating: 1, count: size),
      words.fields(offset: 1, ends: happens()), id: id)
    expect(desk.ask(over, of: user), 400, "more bytes than were announced")
    head(words, id, nil, "an upload that was too long")
    if words.version > 0 {
      let (short, _) = create(words, [1], length: size + 2)
      let end = call(
        "PATCH", .upload, body: [1], words.fields(offset: 1, ends: true), id: short)
      expect(desk.ask(end, of: user), 400, "fewer bytes than were announced")
    }
    tryRoom(words)
    tryCrowd(words)
  }

  /// A user has 16 uploads, of which the oldest makes room.
  private mutating func tryRoom(_ words: Words) {
    var ids: [UUID128] = []
    for _ in 0..<16 {
      desk.now = desk.now.advanced(by: .seconds(1))
      ids.append(create(words, [1], length: 5).id)
    }
    head(words, ids[0], 1, "the first of 16 uploads")
    desk.now = desk.now.advanced(by: .seconds(1))
    let last = create(words, [1], length: 5).id
    head(words, ids[0], nil, "the first of 17 uploads")
    head(words, ids[1], 1, "the second of 17 uploads")
    head(words, last, 1, "the last of 17 uploads")
    let age = Duration.seconds(86_400)
    desk.now = desk.now.advanced(by: age - .nanoseconds(1))
    desk.tick()
    head(words, last, 1, "an upload of almost a day")
    head(words, ids[15], nil, "an upload of more than a day")
    expect(desk.server.deadline == desk.now.advanced(by: .nanoseconds(1)), "no deadline")
    desk.now = desk.now.advanced(by: .nanoseconds(1))
    desk.tick()
    head(words, last, nil, "an upload of a day")
    expect(desk.files.isEmpty, "old uploads are there")
  }

  /// 64 requests wait for the store, 4 for an upload.
  private mutating func tryCrowd(_ words: Words) {
    let (id, _) = create(words, [1], length: 9)
    desk.holds = true
    let piece = call(
      "PATCH", .upload, body: [2], words.fields(offset: 1, ends: false), id: id)
    expect(desk.ask(piece, of: user) == nil, "an answer before the bytes are stored")
    let waiting = (0..<5).map { _ in desk.newRequest() }
    for request in waiting {
      desk.ask(call("HEAD", .upload, words.fields(), id: id), of: user, as: request)
    }
    expect(desk.answers[waiting[3]] == nil, "the fourth does not wait")
    expect(desk.answers[waiting[4]], 503, ["retry-after": "2"], "the fifth that waits")
    for _ in 0..<62 { desk.ask(call("POST", .refresh), of: user) }
    expect(desk.ask(call("POST", .refresh), of: user) == nil, "the last of 64 is refused")
    expect(desk.ask(call("POST", .refresh), of: user), 503, ["retry-after": "2"], "too many wait")
    desk.release()
    for request in waiting.prefix(4) {
      let status = words.version == 0 ? 200 : 204
      expect(desk.answers[request], status, words.told(2), "one that waited")
    }
    expect(desk.ask(call("POST", .refresh), of: user), 200, "a request after the crowd")
  }

  // Bodies that are cut, and the end.

  mutating func tryCuts() {
    let words = Words(version: number(3...8))
    let (id, request) = (newName(), desk.newRequest())
    let size = number(2...40)
    let whole = Array(repeating: UInt8(7), count: size)
    var fields = words.fields(length: size, ends: happens())
    let head = call("POST", .sync, fields, candidate: id)
    desk.feed(.announced(request, head, user: nil))
    expect(desk.informed.isEmpty, "nobody is told of an upload")
    desk.feed(.announced(request, head, user: user))
    expect(
      desk.informed[request]?.value(of: "location") == "/api/sync/upload?id=\(id)",
      "a client is not told where its upload goes on")
    let came = number(1...size - 1)
    var cut = head
    cut.body = Array(whole[..<came])
    desk.feed(.cut(request, cut))
    self.head(words, id, came, "an upload that was cut")
    fields = words.fields(offset: came, ends: true)
    let second = desk.newRequest()
    desk.feed(.announced(second, call("PATCH", .upload, fields, id: id), user: user))
    let asked = desk.newRequest()
    desk.ask(call("HEAD", .upload, words.fields(), id: id), of: user, as: asked)
    expect(desk.answers[asked] == nil, "the offset is told while bytes come")
    expect(desk.interrupted == [second], "the body that comes is not ended")
    let isRight = happens()
    var rest = call(
      "PATCH", .upload, words.fields(offset: isRight ? came : came + 1, ends: true), id: id)
    rest.body = [1]
    desk.feed(.cut(second, rest))
    let end = isRight ? came + 1 : came
    expect(desk.answers[asked], 204, words.told(end), "the offset behind a cut")
    // Nothing of a body leaves nothing.
    let (empty, third) = (newName(), desk.newRequest())
    let none = call("POST", .sync, words.fields(length: 5, ends: true), candidate: empty)
    desk.feed(.announced(third, none, user: user))
    desk.feed(.cut(third, none))
    self.head(words, empty, nil, "an upload without bytes")
    tryRestore(words)
  }

  /// What an earlier process left goes on, by the line of its file.
  private mutating func tryRestore(_ words: Words) {
    let record = SyncUploadRecord(
      user: "a\"\n", length: happens() ? number(9...Self.most) : nil, isGzip: happens())
    let found = SyncUploadRecord.read(record.line + [1, 2])
    expect(found?.record == record, "\(record) is read as \(found.map { "\($0)" } ?? "nothing")")
    expect(found?.bytes == record.line.count, "the line of an upload has another length")
    let owner = SyncUser(record.user)
    let (young, old) = (newName(), newName())
    let age = Duration.seconds(86_400)
    desk.feed(
      .other(
        .restored([
          KeptUpload(id: old, record: record, offset: 9, age: age),
          KeptUpload(id: young, record: record, offset: 9, age: age - .seconds(5)),
        ])))
    let state = desk.ask(call("HEAD", .upload, words.fields(), id: young), of: owner)
    expect(state, 204, ["upload-limit": "max-size=4194304, max-age=5"], "a restored upload")
    let gone = desk.ask(call("HEAD", .upload, words.fields(), id: old), of: owner)
    expect(gone, 404, "a restored upload of a day")
  }

  mutating func tryEnd() {
    let window = Duration.seconds(number(1...9))
    let words = words()
    let (id, _) = create(words, [1], length: 9)
    let request = desk.newRequest()
    desk.feed(
      .announced(
        request, call("PATCH", .upload, words.fields(offset: 1, ends: false), id: id), user: user))
    desk.holds = true
    let late = desk.newRequest()
    desk.ask(call("POST", .refresh), of: user, as: late)
    desk.feed(.other(.drain(within: window)))
    expect(desk.interrupted == [request], "a body is waited for at the end")
    let seconds = "\(window.components.seconds)"
    expect(
      desk.ask(call("POST", .refresh), of: user), 503, ["retry-after": seconds], "at the end")
    expect(!desk.isFinished, "the end comes before the last answer")
    var cut = call("PATCH", .upload, words.fields(offset: 1, ends: false), id: id)
    cut.body = [2, 3]
    desk.feed(.cut(request, cut))
    desk.release()
    expect(desk.answers[late], 200, "a request from before the end")
    expect(desk.files[id] == [1, 2, 3], "what came at the end is lost")
    expect(desk.isFinished, "the end does not come")
  }
}
