import LinkCore
import LinkServerCore
import LinkWire

// Uploads at the server: bodies that come in time or are cut, and the files of those that are not
// complete, with the bytes that the real ones have.
extension SyncWorld {
  /// The file of an upload.
  struct UploadFile {
    /// The line of its record, and what came.
    var bytes: [UInt8]
    /// How many of them were written completely: those behind are of a broken write.
    var told: Int
    /// When they were written last, on the clock of the world and on the server's.
    var changed: Instant
    var wall: Timestamp
  }

  /// A request whose head is there.
  struct Coming {
    var request: SyncRequest
    var phone: Int
    var began: Instant
    var whole: Duration
    var candidate: UUID128
    var isCut: Bool
  }

  // Requests.

  mutating func take(_ request: SyncRequest, _ id: TrafficID, _ phone: Int) {
    let chance = kernel.hosts[server.place].chance.next()
    let candidate = UUID128(high: chance, low: id)
    guard !request.body.isEmpty, chance % 4 > 0 else {
      return feed(id, request, candidate, phone)
    }
    guard let head = request.received(0, candidate: candidate) else { return }
    let isCut = !isCalm && kernel.happens(numbers.cuts)
    let whole = kernel.hosts[server.place].chance.duration(below: .seconds(3))
    backend.coming[id] = Coming(
      request: request, phone: phone, began: now, whole: whole, candidate: candidate,
      isCut: isCut)
    kernel.later(.bodies(id), on: server, after: whole)
    feed(.announced(RequestID(id), head, user: user(phone, request.secret)))
  }

  private mutating func feed(
    _ id: TrafficID, _ request: SyncRequest, _ candidate: UUID128, _ phone: Int
  ) {
    guard let received = request.received(candidate: candidate) else { return }
    feed(
      .request(RequestID(id), received, user: user(phone, request.secret), wall: wall(server)))
  }

  /// The body of a request is whole, or nothing more of it comes.
  mutating func bodyEnds(_ id: TrafficID) {
    guard let coming = backend.coming.removeValue(forKey: id) else { return }
    // What an intermediary repeats has no client that waits.
    let place = exchange(id)
    let isLeft = place.map { kernel.exchanges[$0].isAbandoned || isHole(kernel.exchanges[$0].from) }
    guard coming.isCut || isLeft == true else {
      return feed(id, coming.request, coming.candidate, coming.phone)
    }
    let passed = coming.began.duration(to: now)
    let share = coming.whole > .zero ? min(1, passed / coming.whole) : 0
    let most = Int(Double(coming.request.body.count) * share)
    let bound = UInt64(max(0, min(most, coming.request.body.count - 1)))
    let count = Int(kernel.hosts[server.place].chance.next() % (bound + 1))
    if let place, isLeft == false { cut(kernel.exchanges[place]) }
    guard let received = coming.request.received(count, candidate: coming.candidate) else { return }
    feed(.cut(RequestID(id), received))
  }

  /// Ends a request whose body is coming; what came of it is told a moment later.
  mutating func interrupt(_ id: TrafficID) {
    backend.coming[id]?.isCut = true
    kernel.later(.bodies(id), on: server, after: .milliseconds(1))
  }

  /// Tells a client where its upload goes on.
  mutating func inform(_ id: TrafficID, _ fields: [UploadField]) {
    guard let place = exchange(id), !isHole(kernel.exchanges[place].from),
      case .part(let phone, let file, _) = kernel.exchanges[place].question
    else { return }
    kernel.later(
      .informs(phone: phone, file: file, id, fields), after: kernel.delay())
  }

  /// The answer as a server of the plan's kind gives it.
  func disguised(_ answer: SyncAnswer, to id: TrafficID) -> SyncAnswer {
    guard let place = exchange(id),
      case .part(_, _, let request) = kernel.exchanges[place].question,
      request.method == "OPTIONS"
    else { return answer }
    var answer = answer
    let draft = ["Accept-Patch", "Upload-Draft-Interop-Version", "Upload-Limit"]
    answer.fields.removeAll { field in
      let isDraft = draft.contains(field.name)
      return numbers.dialect == 0 || isDraft == (numbers.dialect == 1)
    }
    for index in answer.fields.indices {
      let value = answer.fields[index].value
      if answer.fields[index].name == draft[1] { answer.fields[index].value = "\(numbers.dialect)" }
      if answer.fields[index].name == draft[2], numbers.piece > 0 {
        answer.fields[index].value = "max-append-size=\(numbers.piece), " + value
      }
    }
    return answer
  }

  // Files.

  mutating func write(
    _ token: StoreToken, _ id: UUID128, _ record: SyncUploadRecord, _ offset: Int,
    _ bytes: [UInt8], isLast: Bool
  ) {
    let piece = SyncPiece(
      token: token, id: id, record: record, offset: offset, bytes: bytes, isLast: isLast)
    // A plan may have hundreds of pieces left when calm comes, which a slow store makes minutes.
    let delay = isCalm ? .milliseconds(2) : numbers.storeDelay
    write(.keeps(piece), on: server, after: max(diskDelay(server), delay))
  }

  /// Bytes of an upload are in its file: what a failed write left behind the offset is gone.
  mutating func keep(_ piece: SyncPiece) -> Feature.Cue? {
    // Half of the processes that die with a write do so in the middle of it.
    if kernel.hosts[server.place].doom == .durable, piece.token.number % 2 == 0 {
      tear(piece, isKilled: true)
      return nil
    }
    let bytes = begun(piece) + piece.bytes
    backend.files[piece.id] = UploadFile(
      bytes: bytes, told: bytes.count, changed: now, wall: wall(server))
    return piece.isLast ? .completes(piece) : .done(piece.token, .kept(piece.end))
  }

  /// The content of a file up to where bytes are written.
  private func begun(_ piece: SyncPiece) -> [UInt8] {
    let line = piece.record.line
    guard let file = backend.files[piece.id] else { return line }
    if seam.defect == .appendsBehind { return file.bytes }
    let bytes = Array(file.bytes.prefix(line.count + piece.offset))
    let missing = line.count + piece.offset - bytes.count
    return bytes + Array(repeating: 0, count: max(0, missing))
  }

  /// Some of the bytes of an upload, the first ones, are in its file, and the rest is not.
  mutating func tear(_ change: Feature.Cue, on host: HostID) {
    guard case .keeps(let piece) = change else { return }
    tear(piece, isKilled: !kernel.hosts[host.place].isRunning)
  }

  private mutating func tear(_ piece: SyncPiece, isKilled: Bool) {
    var chance = Chance(seed: piece.id.high ^ piece.token.number)
    if var file = backend.files[piece.id] {
      let count = Int(chance.next() % UInt64(piece.bytes.count + 1))
      file.bytes = begun(piece) + piece.bytes.prefix(count)
      if isKilled { (file.changed, file.wall) = (now, wall(server)) }
      backend.files[piece.id] = file
    } else if isKilled {
      // A write that fails removes the file that it has made.
      let all = piece.record.line + piece.bytes
      let bytes = Array(all.prefix(Int(chance.next() % UInt64(all.count + 1))))
      backend.files[piece.id] = UploadFile(
        bytes: bytes, told: 0, changed: now, wall: wall(server))
    }
  }

  /// Stores the batch that the file of an upload holds.
  mutating func complete(_ piece: SyncPiece) {
    let line = piece.record.line.count
    let content = backend.files[piece.id]?.bytes ?? []
    guard content.count >= line + piece.end else {
      return later(piece.token, .failed(.denied(detail: "the file is too short")))
    }
    ingest(
      piece.token, piece.record.user, Array(content[line..<(line + piece.end)]),
      isGzip: piece.record.isGzip, upTo: piece.end)
  }

  /// Tells the server what an earlier process has left; removes what is none.
  mutating func restoreUploads() {
    guard numbers.resumesFrom > 0 else { return }
    var kept: [KeptUpload] = []
    for (id, file) in backend.files.sorted(by: { $0.key < $1.key }) {
      let head = Array(file.bytes.prefix(SyncUploadRecord.mostBytes))
      guard let (record, line) = SyncUploadRecord.read(head),
        file.bytes.count - line <= record.length ?? SyncServerPolicy.maxBodyBytes
      else {
        backend.files[id] = nil
        continue
      }
      let end = seam.defect == .appendsBehind ? max(line, file.told) : file.bytes.count
      kept.append(
        KeptUpload(
          id: id, record: record, offset: end - line,
          age: max(.zero, file.wall.duration(to: wall(server)))))
    }
    feed(.other(.restored(seam.defect == .forgetsUploads ? [] : kept)))
  }

  // The end.

  /// Finds files that are there although nothing can be added to them any more: a day after the
  /// last bytes came each is gone, and none sooner.
  mutating func checkUploads() {
    guard kernel.hosts[server.place].isRunning else { return }
    for (id, file) in backend.files.sorted(by: { $0.key < $1.key }) {
      var rules = backend.server
      let age = Duration.seconds(24 * 3_600)
      let early = rules.tick(at: file.changed.advanced(by: age - .seconds(1)))
      let late = rules.tick(at: file.changed.advanced(by: age + .seconds(60)))
      guard early.contains(.forget(id)) || !late.contains(.forget(id)) else { continue }
      let head = Array(file.bytes.prefix(SyncUploadRecord.mostBytes))
      let user = SyncUploadRecord.read(head)?.record.user
      note(.leftover(phone: user ?? "nobody", bytes: file.bytes.count))
    }
  }
}
