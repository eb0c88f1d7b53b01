import HoldfastCore
import HoldfastHealthSamples
import HoldfastHealthSync
import HoldfastLinkChecks
import HoldfastServerParts
import HoldfastSyncChecks
import HoldfastSyncData
import HoldfastSyncServer
import HoldfastUploads
import HoldfastWorldKernel

// The app's effect handler on a phone: its source, its disk and its uploads.
extension SyncWorld {
  mutating func perform(_ effect: SyncModel.Effect, of phone: HostID) {
    let index = phone.index
    switch effect {
    case .observe(let types):
      phones[index].observed = types
      phones[index].due.formUnion(types)
      fireSoon(phone, within: .milliseconds(200))
    case .fetch(let id, let type, let start, let limit, let stamp):
      kernel.answerLater(
        .reads(id, type, start, limit: limit, notBefore: stamp), to: phone,
        after: .milliseconds(5))
    case .commit(let id, let steps): writeInOrder(.commits(id, steps), phone)
    case .delete(let files):
      for file in files {
        phones[index].files[file] = nil
        phones[index].tickets[file] = nil
      }
    case .upload(let all): for upload in all { begin(upload.file, phone) }
    case .split(let file): split(file, phone)
    case .requestSecret:
      let isNew = phones[index].secrets.renew(phones[index].secret)
      kernel.answerLater(.input(.secret(isNew: isNew)), to: phone, after: .milliseconds(5))
    case .identify:
      phones[index].identifying = ask(
        .identify(phone: index, secret: phones[index].usedSecret), from: phone, to: server)
    case .refresh:
      phones[index].refreshing = ask(
        .refresh(phone: index, secret: phones[index].usedSecret), from: phone, to: server)
    case .giveBack(let id, _):
      phones[index].grants.remove(id)
      napSoon(phone)
    case .update: return
    }
  }

  /// Writes a change after all earlier changes.
  private mutating func writeInOrder(_ change: Feature.ScheduledEvent, _ phone: HostID) {
    let free = max(phones[phone.index].diskFree, now).advanced(by: diskDelay(phone))
    phones[phone.index].diskFree = free
    write(change, on: phone, after: now.duration(to: free))
  }

  private mutating func read(
    _ id: SyncFetchID, _ type: String, _ start: HealthPageStart, _ limit: Int,
    notBefore stamp: Timestamp, _ phone: HostID
  ) {
    guard !isUnderWay(.locks, on: phone) else {
      note(.locked(phone: phone.index, id))
      return give(.notFetched(id, .locked(detail: "the device is locked")), to: phone)
    }
    let wall = wall(phone)
    let page = phones[phone.index].source.page(
      type, from: start, limit: limit, at: wall, checksMarks: seam.defect != .believesNumbers)
    let made = max(wall, stamp)
    let packed = SyncPacking(deviceID: Self.device).batches(of: type, page, made: made)
    let drafts = name(packed, phone)
    let fetched = FetchedPage(
      drafts: drafts, anchor: page.anchor, made: made,
      earliest: page.added.map(\.sample.start).min())
    guard !drafts.isEmpty else { return give(.fetched(id, fetched), to: phone) }
    kernel.counts[.batches] += drafts.count
    writeInOrder(.writes(id, fetched, packed.map(\.bytes)), phone)
  }

  /// Assigns file names to batches.
  private mutating func name(
    _ packed: [SyncPacking.Packed], _ phone: HostID
  ) -> [PayloadDraft] {
    packed.map { packed in
      phones[phone.index].lastFile += 1
      return PayloadDraft(
        file: "batch-\(phones[phone.index].lastFile)", records: packed.records,
        deletions: packed.deletions, bytes: packed.bytes.count)
    }
  }

  private mutating func split(_ file: String, _ phone: HostID) {
    let halves = phones[phone.index].files[file].flatMap { SyncPacking.halves(of: $0) }
    guard let halves else {
      return kernel.answerLater(
        .input(.notSplit(file, nil)), to: phone, after: .milliseconds(2))
    }
    let drafts = name(halves, phone)
    writeInOrder(.splits(file, drafts, halves.map(\.bytes)), phone)
  }

  // The disk.

  mutating func makeDurable(_ change: Feature.ScheduledEvent, on host: HostID) -> Feature
    .ScheduledEvent?
  {
    switch change {
    case .writes(let id, let page, let bodies):
      store(page.drafts, bodies, host)
      return .input(.fetched(id, page))
    case .splits(let file, let drafts, let bodies):
      store(drafts, bodies, host)
      return .input(.split(file, drafts))
    case .commits(let id, let steps):
      for step in steps { phones[host.index].apply(step) }
      return .input(.committed(id))
    case .stores(let token, let delivery, _): return store(token, delivery)
    case .writesPiece(let piece): return append(piece)
    case .input, .reads, .fires, .naps, .tries, .informs, .stamps, .completes, .bodies, .done,
      .repeats, .queries:
      return nil
    }
  }

  private mutating func store(_ drafts: [PayloadDraft], _ bodies: [[UInt8]], _ host: HostID) {
    for (draft, body) in zip(drafts, bodies) {
      phones[host.index].files[draft.file] = body
      phones[host.index].written.insert(SyncHash.folded(body))
    }
  }

  func refusedChange(_ change: Feature.ScheduledEvent, isFull: Bool) -> Feature.ScheduledEvent {
    let failure: StoreFailure =
      isFull ? .full(detail: "no space left") : .locked(detail: "another process has it")
    switch change {
    case .writes(let id, _, _): return .input(.notWritten(id, failure))
    case .splits(let file, _, _): return .input(.notSplit(file, failure))
    case .commits(let id, _): return .input(.notCommitted(id, failure))
    case .stores(let token, _, let end):
      return .done(token, end.map { .unfinished($0, failure) } ?? .failed(failure))
    case .writesPiece(let piece): return .done(piece.token, .failed(failure))
    case .input, .reads, .fires, .naps, .tries, .informs, .stamps, .completes, .bodies, .done,
      .repeats, .queries:
      return change
    }
  }

  // Scheduled events.

  mutating func take(_ scheduled: Feature.ScheduledEvent, on host: HostID?) {
    switch scheduled {
    case .input(let input): if let host { give(input, to: host) }
    case .reads(let id, let type, let start, let limit, let stamp):
      if let host { read(id, type, start, limit, notBefore: stamp, host) }
    case .fires(let phone): fire(kernel.phones[phone])
    case .naps(let phone): nap(kernel.phones[phone])
    case .tries(let phone, let file):
      // A canceled task for the same file may have scheduled this attempt.
      guard phones[phone].tasks[file]?.exchange == nil else { return }
      tryUpload(file, kernel.phones[phone])
    case .informs(let phone, let file, let number, let fields):
      informed(file, number, fields, kernel.phones[phone])
    case .stamps(let token, let user, let device):
      let stamp = backend.stored.newestStamp(of: user, device: device)
      feed(.other(.done(token, .stamped(stamp))))
    case .completes(let piece): complete(piece)
    case .bodies(let number): bodyEnds(number)
    case .done(let token, let outcome): feed(.other(.done(token, outcome)))
    case .repeats(let question): repeated(question)
    case .queries(let phone): query(from: phone)
    case .writes, .splits, .commits, .stores, .writesPiece: return  // They become durable instead.
    }
  }

  mutating func begin(
    _ eventKind: Feature.EventKind, _ event: PlannedEvent<Feature.EventKind>, _ index: Int
  ) {
    switch eventKind {
    case .rotates: backend.secret += 1
    case .serverReturns: putBackServer(index)
    case .cellular, .lowData, .lowPower, .locks, .overloads: return  // Only the conditions change.
    case .adds, .deletes, .restores, .storeReturns, .queueReturns, .forceQuits, .retries, .resets,
      .evicts, .refreshes, .processes:
      for phone in targets(of: event) { begin(eventKind, event, index, on: phone) }
    }
  }

  private mutating func begin(
    _ eventKind: Feature.EventKind, _ event: PlannedEvent<Feature.EventKind>, _ index: Int,
    on phone: HostID
  ) {
    switch eventKind {
    case .adds: add(event.number, phone)
    case .deletes: change(deletes: true, event.number, phone)
    case .restores: change(deletes: false, event.number, phone)
    case .storeReturns: putBackStore(phone)
    case .queueReturns:
      forceQuit(phone, index)
      phones[phone.index].putBack()
      note(.putBack(.queue(phone: phone.index)))
    case .forceQuits: forceQuit(phone, index)
    case .retries: restart(phone) { $0.releaseAll() }
    case .resets: restart(phone) { $0.reset(SyncSource.types[event.number]) }
    case .evicts: evict(phone, index)
    case .refreshes: startTask(.seconds(30), phone)
    case .processes: startTask(.seconds(180), phone)
    case .cellular, .lowData, .lowPower, .locks, .overloads, .rotates, .serverReturns: return
    }
  }

  private mutating func putBackStore(_ phone: HostID) {
    phones[phone.index].source.putBack(&kernel.hosts[phone.slot].generator)
    phones[phone.index].due.formUnion(phones[phone.index].source.types)
    note(.putBack(.healthStore(phone: phone.index)))
    changed(phone)
  }

  mutating func end(_ event: PlannedEvent<Feature.EventKind>, _ index: Int) {
    switch event.eventKind {
    case .own(.rotates): for phone in phones.indices { phones[phone].secret = backend.secret }
    case .own(.locks): for phone in kernel.phones { fireSoon(phone, within: .milliseconds(200)) }
    case .own, .common: return
    }
  }

  // The person.

  mutating func add(_ count: Int, _ phone: HostID) {
    let wall = wall(phone)
    for _ in 0..<count {
      let word = kernel.hosts[phone.slot].generator.next()
      let type = phones[phone.index].source.type(word)
      phones[phone.index].source.add(type, at: wall, &kernel.hosts[phone.slot].generator)
      phones[phone.index].due.insert(type)
    }
    kernel.counts[.samples] += count
    changed(phone)
  }

  mutating func change(deletes: Bool, _ count: Int, _ phone: HostID) {
    for _ in 0..<count {
      guard
        let type = phones[phone.index].source.change(
          deletes: deletes, &kernel.hosts[phone.slot].generator)
      else { break }
      phones[phone.index].due.insert(type)
      if deletes { kernel.counts[.deletions] += 1 }
    }
    changed(phone)
  }

  private mutating func changed(_ phone: HostID) {
    note(.changed(phone: phone.index))
    fireSoon(phone, within: kernel.plan.numbers.delivery)
  }
}

// Uploads at the server: bodies that arrive completely or are cut off, and the files of incomplete
// uploads, which contain the same bytes as real files.
extension SyncWorld {
  /// The file of an incomplete upload.
  struct UploadFile {
    /// The line of the upload's record, followed by the received bytes.
    var bytes: [UInt8]
    /// The number of bytes that were written completely. Bytes after them come from a failed write.
    var written: Int
    /// The time at which the file was last written, on the world's clock and on the server's wall
    /// clock.
    var changed: Instant
    var wall: Timestamp
  }

  /// A request whose header has arrived.
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
    let generator = kernel.hosts[server.slot].generator.next()
    let candidate = UUID128(high: generator, low: id)
    guard !request.body.isEmpty, generator % 4 > 0 else {
      return feed(id, request, candidate, phone)
    }
    guard let head = request.received(0, candidate: candidate) else { return }
    let isCut = !isCalm && kernel.happens(numbers.cuts)
    // A payload may take a hundred requests. All of them must fit into the calm phase.
    let longest = isCalm ? Duration.milliseconds(200) : .seconds(3)
    let whole = kernel.hosts[server.slot].generator.duration(below: longest)
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

  /// Ends the body of a request, either because it is complete or because no more of it will
  /// arrive.
  mutating func bodyEnds(_ id: TrafficID) {
    guard let coming = backend.coming.removeValue(forKey: id) else { return }
    // If an intermediary repeated the request, no client waits for the answer.
    let index = exchange(id)
    let isLeft = index.map { kernel.exchanges[$0].isAbandoned || isHole(kernel.exchanges[$0].from) }
    guard coming.isCut || isLeft == true else {
      return feed(id, coming.request, coming.candidate, coming.phone)
    }
    let passed = coming.began.duration(to: now)
    let share = coming.whole > .zero ? min(1, passed / coming.whole) : 0
    let most = Int(Double(coming.request.body.count) * share)
    let bound = UInt64(max(0, min(most, coming.request.body.count - 1)))
    let count = Int(kernel.hosts[server.slot].generator.next() % (bound + 1))
    if let index, isLeft == false { cut(kernel.exchanges[index]) }
    guard let received = coming.request.received(count, candidate: coming.candidate) else { return }
    feed(.cut(RequestID(id), received))
  }

  /// Interrupts a request whose body is arriving. The server receives the partial body a moment
  /// later.
  mutating func interrupt(_ id: TrafficID) {
    backend.coming[id]?.isCut = true
    kernel.later(.bodies(id), on: server, after: .milliseconds(1))
  }

  /// Reports to a client the URL at which its upload can resume.
  mutating func inform(_ id: TrafficID, _ fields: [UploadField]) {
    guard let index = exchange(id), !isHole(kernel.exchanges[index].from),
      case .part(let phone, let file, _) = kernel.exchanges[index].question
    else { return }
    kernel.later(
      .informs(phone: phone, file: file, id, fields), after: kernel.delay())
  }

  /// Returns an answer as the server of the plan would send it.
  func disguised(_ answer: SyncAnswer, to id: TrafficID) -> SyncAnswer {
    var answer = answer
    if numbers.coded == 0 { answer.listsEncodings = false }
    guard let index = exchange(id),
      case .part(_, _, let request) = kernel.exchanges[index].question,
      request.method == "OPTIONS"
    else { return answer }
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
    _ token: StoreToken, _ id: UUID128, _ record: UploadRecord, _ offset: Int,
    _ bytes: [UInt8], isLast: Bool
  ) {
    let piece = SyncPiece(
      token: token, id: id, record: record, offset: offset, bytes: bytes, isLast: isLast)
    // A plan may have hundreds of pieces left when the calm phase begins. A slow store would need
    // minutes for them.
    let delay = isCalm ? .milliseconds(2) : numbers.storeDelay
    write(.writesPiece(piece), on: server, after: max(diskDelay(server), delay))
  }

  /// Writes a piece to an upload's file. It replaces bytes that a failed write left after the
  /// piece's offset.
  mutating func append(_ piece: SyncPiece) -> Feature.ScheduledEvent? {
    // Half of the kills during a write leave the piece partially written.
    if kernel.hosts[server.slot].pendingKill == .durable, piece.token.number % 2 == 0 {
      tear(piece, isKilled: true)
      return nil
    }
    let bytes = begun(piece) + piece.bytes
    backend.files[piece.id] = UploadFile(
      bytes: bytes, written: bytes.count, changed: now, wall: wall(server))
    return piece.isLast ? .completes(piece) : .done(piece.token, .written(piece.end))
  }

  /// Returns the content of a file up to the offset of a piece.
  private func begun(_ piece: SyncPiece) -> [UInt8] {
    let line = piece.record.line
    guard let file = backend.files[piece.id] else { return line }
    if seam.defect == .appendsBehind { return file.bytes }
    let bytes = Array(file.bytes.prefix(line.count + piece.offset))
    let missing = line.count + piece.offset - bytes.count
    return bytes + Array(repeating: 0, count: max(0, missing))
  }

  /// Writes only the first bytes of a piece, like a failed write.
  mutating func tear(_ change: Feature.ScheduledEvent, on host: HostID) {
    guard case .writesPiece(let piece) = change else { return }
    tear(piece, isKilled: !kernel.hosts[host.slot].isRunning)
  }

  private mutating func tear(_ piece: SyncPiece, isKilled: Bool) {
    var generator = RandomSource(seed: piece.id.high ^ piece.token.number)
    if var file = backend.files[piece.id] {
      let count = Int(generator.next() % UInt64(piece.bytes.count + 1))
      file.bytes = begun(piece) + piece.bytes.prefix(count)
      if isKilled { (file.changed, file.wall) = (now, wall(server)) }
      backend.files[piece.id] = file
    } else if isKilled {
      // If a write fails without a kill, it removes the file that it created.
      let all = piece.record.line + piece.bytes
      let bytes = Array(all.prefix(Int(generator.next() % UInt64(all.count + 1))))
      backend.files[piece.id] = UploadFile(
        bytes: bytes, written: 0, changed: now, wall: wall(server))
    }
  }

  /// Stores the batch that the file of a complete upload contains.
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

  /// Restores the uploads of an earlier process, and removes files that do not belong to an upload.
  mutating func restoreUploads() {
    guard numbers.resumesFrom > 0 else { return }
    var uploads: [StoredUpload] = []
    for (id, file) in backend.files.sorted(by: { $0.key < $1.key }) {
      let head = Array(file.bytes.prefix(UploadRecord.mostBytes))
      guard let (record, line) = UploadRecord.read(head),
        file.bytes.count - line <= record.length ?? SyncServerPolicy.maxBodyBytes
      else {
        backend.files[id] = nil
        continue
      }
      let end = seam.defect == .appendsBehind ? max(line, file.written) : file.bytes.count
      uploads.append(
        StoredUpload(
          id: id, record: record, offset: end - line,
          age: max(.zero, file.wall.duration(to: wall(server)))))
    }
    feed(.other(.restored(seam.defect == .forgetsUploads ? [] : uploads)))
  }

  // The end.

  /// Reports upload files that the server removed before a day had passed since their last bytes,
  /// or did not remove afterwards.
  mutating func checkUploads() {
    guard kernel.hosts[server.slot].isRunning else { return }
    for (id, file) in backend.files.sorted(by: { $0.key < $1.key }) {
      var rules = backend.server
      let age = Duration.seconds(24 * 3_600)
      let early = rules.tick(at: file.changed.advanced(by: age - .seconds(1)))
      let late = rules.tick(at: file.changed.advanced(by: age + .seconds(60)))
      let removal = SyncServer.Effect.upload(.forget(id))
      guard early.contains(removal) || !late.contains(removal) else { continue }
      let head = Array(file.bytes.prefix(UploadRecord.mostBytes))
      let user = UploadRecord.read(head)?.record.user
      note(.leftover(phone: user ?? "nobody", bytes: file.bytes.count))
    }
  }
}
