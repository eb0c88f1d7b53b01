import LinkCore
import LinkServerCore
import LinkWire

// What requests are answered with, and what they have done.
extension SyncHouse {
  mutating func request(
    _ id: RequestID, _ letter: SyncLetter, _ user: SyncUser?, _ wall: Timestamp
  ) {
    let announced = coming.removeValue(forKey: id)
    if let announced { uploads[announced]?.open = nil }
    guests[id] = Guest(
      path: letter.path, since: now, origin: letter.fields["origin"], announced: announced,
      isTus: [.sync, .upload].contains(letter.path) && (letter.isOfOtherTus || letter.version == 0))
    if let say = saidToAll(letter) {
      answer(id, say)
    } else if letter.path == .dashboard {
      answerPage(id, SyncReplyText(200, Self.pageFields, Self.page))
    } else {
      serve(id, letter, user, wall)
    }
    if let announced { resume(announced) }
  }

  /// What is said whoever asks; `nil` if that counts.
  private func saidToAll(_ letter: SyncLetter) -> Say? {
    if let refusal = refusal(of: letter) { return refusal }
    if letter.method == "OPTIONS" {
      var say = Say(status: 204, body: "")
      if letter.fields["origin"] != nil {
        say.isPreflight = true
      } else {
        say.allow = Self.allow[letter.path]
        say.fields = [
          ["Accept-Patch", "application/partial-upload"], ["Upload-Draft-Interop-Version", "8"],
          ["Upload-Limit", "max-size=4194304"], ["Tus-Resumable", "1.0.0"],
          ["Tus-Version", "1.0.0"], ["Tus-Extension", "creation,termination"],
          ["Tus-Max-Size", "4194304"],
        ]
      }
      return say
    }
    guard letter.path == .sync, letter.method == "GET" else { return nil }
    return Say(status: 200, body: #"{"status":"ok","endpoint":"sync"}"#)
  }

  private func refusal(of letter: SyncLetter) -> Say? {
    let (doors, origin) = (WebDoors(), letter.fields["origin"])
    if !doors.admit(host: letter.fields["host"]) {
      return .error(
        421, "Misdirected", "This server is reached by the names of this machine alone.")
    }
    if !doors.admit(origin: origin) {
      return .error(403, "Forbidden", "Web pages of this origin may not call.")
    }
    let isQuestion = letter.method == "OPTIONS"
    let allow = Self.allow[letter.path] ?? ""
    let isTaken = allow.split(separator: ", ").map(String.init).contains(letter.method)
    if !isTaken, !(isQuestion && origin != nil) {
      var say = Say.error(405, "Method not allowed", "This route takes \(allow).")
      say.allow = allow
      return say
    }
    if letter.isOfOtherTus, !isQuestion {
      var say = Say.error(412, "Unknown version", "This server speaks tus 1.0.0.")
      say.fields = [["Tus-Version", "1.0.0"]]
      return say
    }
    return nil
  }

  private static let pageFields = [
    ["Content-Type", "text/html; charset=utf-8"], ["Cache-Control", "no-cache"],
    [
      "Content-Security-Policy",
      "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
        + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ],
    ["X-Content-Type-Options", "nosniff"], ["Referrer-Policy", "no-referrer"],
  ]

  /// The page is not told a second time: it stands for itself.
  static let page = "the page"

  private mutating func serve(
    _ id: RequestID, _ letter: SyncLetter, _ user: SyncUser?, _ wall: Timestamp
  ) {
    switch mode {
    case .serves: break
    case .ended: return answer(id, .error(503, "Draining", after: 2))
    case .leaves(let window, _):
      return answer(id, .error(503, "Draining", after: Self.seconds(window)))
    }
    guard let user else {
      sums[3] += 1
      return answer(id, .error(401, "Unauthorized"))
    }
    if work.count > 63 { return answer(id, Self.busy) }
    switch letter.path {
    case .sync: post(id, letter, user)
    case .upload: upload(id, letter, user)
    case .refresh: orders.append(.check(begin(id)))
    case .steps, .heartRate, .sleep, .workouts, .periods:
      let days = ["from", "to"].map { letter.query[$0].map { SyncLetter.day($0) } }
      if days.contains(where: { $0 == .some(nil) }) {
        return answer(
          id, .error(400, "Bad request", "from and to are dates such as 2026-01-31."))
      }
      let midnights = days.map { day in (day ?? nil).map { $0 * 86_400_000_000_000 } }
      orders.append(.tell(begin(id), user, letter.path, midnights, wall))
    case .dashboard: return
    }
  }

  static let busy = Say.error(503, "Too busy", after: 2)

  /// Whole seconds of a wish, at least one.
  private static func seconds(_ wish: Duration) -> Int64 {
    let (seconds, rest) = wish.components
    return max(1, seconds + (rest > 0 ? 1 : 0))
  }

  mutating func begin(_ id: RequestID) -> UInt64 {
    token += 1
    work[token] = Work(guest: id)
    return token
  }

  // Batches and creations.

  private static let odd = Say.error(
    415, "Unsupported encoding", "Bodies may be compressed with gzip only.")
  static let uneven = Say.error(
    400, "Bad request", "The upload has another length than was announced. Begin anew.")
  static let unknown = Say.error(
    404, "Unknown upload", "It is complete, expired or of another user. Begin anew.")

  private mutating func post(_ id: RequestID, _ letter: SyncLetter, _ user: SyncUser) {
    let announced = guests[id]?.announced
    let version = letter.version
    guard let version, version == 0 || letter.ends != nil, letter.ends != true else {
      if version != nil, letter.ends == true {
        if let announced { forget(announced) }
        guests[id]?.ends = version
      }
      guard let isGzip = letter.isGzip else { return answer(id, Self.odd) }
      return orders.append(.ingest(begin(id), user, letter.body, isGzip: isGzip))
    }
    var fault = fault(ofNew: letter, version)
    if fault == nil, letter.isGzip == nil { fault = Self.odd }
    if fault == nil, let length = letter.length, length < letter.body.count { fault = Self.uneven }
    if let fault {
      if let announced { forget(announced) }
      return answer(id, fault)
    }
    if announced == nil {
      guard hasRoom(user.name) else { return answer(id, Self.busy) }
      uploads[letter.candidate] = new(letter, user)
    }
    keep(id, announced ?? letter.candidate, letter.body, version)
  }

  private func new(_ letter: SyncLetter, _ user: SyncUser) -> Upload {
    Upload(
      owner: user.name, length: letter.length, isGzip: letter.isGzip == true,
      expires: now.advanced(by: Self.day))
  }

  private func fault(ofNew letter: SyncLetter, _ version: Int) -> Say? {
    if let length = letter.length { return length > Self.most ? tooLarge(version) : nil }
    return version == 0 ? .error(400, "Bad request", "Upload-Length is needed.") : nil
  }

  private func tooLarge(_ version: Int) -> Say {
    var say = Say.error(413, "Too large", "A body has at most 4194304 bytes. Split the batch.")
    say.fields = Self.named(version) + [Self.limit()]
    return say
  }

  /// Makes room for an upload: a user has 16, all together 256.
  private mutating func hasRoom(_ user: String) -> Bool {
    while let name = surplus(user) { forget(name) }
    return uploads.count < 256
  }

  /// The upload that another one of a user takes the place of.
  private func surplus(_ user: String) -> UUID128? {
    let own = uploads.filter { $0.value.owner == user }
    if own.count > 15 { return oldest(own) }
    return uploads.count > 255 ? oldest(uploads) : nil
  }

  private func oldest(_ some: [UUID128: Upload]) -> UUID128? {
    let idle = some.filter(\.value.isIdle)
    return idle.keys.sorted().min { uploads[$0]?.expires ?? now < uploads[$1]?.expires ?? now }
  }

  mutating func forget(_ name: UUID128) {
    guard let upload = uploads.removeValue(forKey: name) else { return }
    if upload.isStored { orders.append(.forget(name)) }
    for waiting in upload.queue { answer(waiting.id, Self.unknown) }
  }

  // Bodies that come.

  mutating func announce(_ id: RequestID, _ letter: SyncLetter, _ user: SyncUser?) {
    guard refusal(of: letter) == nil, mode == .serves, let user, let version = letter.version
    else { return }
    if letter.path == .sync, letter.method == "POST" {
      guard letter.ends != nil, fault(ofNew: letter, version) == nil, letter.isGzip != nil,
        hasRoom(user.name)
      else { return }
      var upload = new(letter, user)
      upload.open = id
      uploads[letter.candidate] = upload
      coming[id] = letter.candidate
      orders.append(
        .inform(id, Self.named(version) + [Self.location(letter.candidate), Self.limit()]))
    } else if letter.path == .upload, letter.method == "PATCH" {
      guard let name = find(letter, user), uploads[name]?.isIdle == true else { return }
      uploads[name]?.open = id
      coming[id] = name
    }
  }

  private func find(_ letter: SyncLetter, _ user: SyncUser) -> UUID128? {
    letter.upload.flatMap { uploads[$0]?.owner == user.name ? $0 : nil }
  }

  mutating func cut(_ id: RequestID, _ letter: SyncLetter) {
    guard let name = coming.removeValue(forKey: id), let upload = uploads[name],
      let version = letter.version
    else { return }
    uploads[name]?.open = nil
    let isNew = letter.path == .sync
    let isRight = isNew || letter.offset == upload.offset
    if isRight, !letter.body.isEmpty, work.count < 64, mode != .ended,
      fault(upload, letter.body.count, version) == nil
    {
      return keep(id, name, letter.body, version)
    }
    if isNew, upload.queue.isEmpty { uploads[name] = nil }
    resume(name)
  }

  // Requests about uploads.

  private func fault(_ upload: Upload, _ count: Int, _ version: Int) -> Say? {
    if upload.offset + count > Self.most { return tooLarge(version) }
    if let length = upload.length, upload.offset + count > length { return Self.uneven }
    return nil
  }

  private mutating func upload(_ id: RequestID, _ letter: SyncLetter, _ user: SyncUser) {
    guard let version = letter.version else {
      return answer(
        id,
        .error(
          400, "Bad request", "Upload-Draft-Interop-Version or Tus-Resumable is needed."))
    }
    guard let name = find(letter, user), let upload = uploads[name] else {
      return answer(id, Self.unknown)
    }
    guard upload.isIdle else {
      if upload.queue.count > 3 { return answer(id, Self.busy) }
      uploads[name]?.queue.append((id, letter, user))
      if let open = upload.open { orders.append(.interrupt(open)) }
      return
    }
    if letter.method == "HEAD" {
      var say = Say(status: version == 0 ? 200 : 204, body: "")
      let left = max(.zero, now.duration(to: upload.expires)).components.seconds
      say.fields =
        Self.state(version, upload.offset, length: upload.length) + [Self.limit(left)]
      answer(id, say)
    } else if letter.method == "DELETE" {
      forget(name)
      answer(id, Say(status: 204, body: "", fields: Self.named(version)))
    } else {
      append(id, name, upload, letter, version)
    }
    resume(name)
  }

  mutating func resume(_ name: UUID128) {
    guard let upload = uploads[name], upload.isIdle, let next = upload.queue.first else { return }
    uploads[name]?.queue.removeFirst()
    self.upload(next.id, next.letter, next.user)
  }

  private mutating func append(
    _ id: RequestID, _ name: UUID128, _ upload: Upload, _ letter: SyncLetter, _ version: Int
  ) {
    if work.count > 63 { return answer(id, Self.busy) }
    let type = version == 0 ? "application/offset+octet-stream" : "application/partial-upload"
    if version == 0 || version > 5, letter.mediaType != type {
      return answer(
        id, .error(415, "Unsupported media type", "What is appended is \(type)."))
    }
    guard let offset = letter.offset else {
      return answer(id, .error(400, "Bad request", "Upload-Offset is needed."))
    }
    if offset != upload.offset {
      var say = Say.error(
        409, "Conflict", "The upload has \(upload.offset) bytes, not \(offset).")
      say.fields = Self.state(version, upload.offset)
      return answer(id, say)
    }
    let end = offset + letter.body.count
    let isLast = version == 0 ? end == upload.length : letter.ends == true
    var fault = fault(upload, letter.body.count, version)
    if fault == nil {
      // What is announced is what it was, and what the last bytes make it.
      var said = [letter.length]
      if isLast { said.append(end) }
      if isLast || letter.length != nil { said.append(upload.length) }
      if Set(said.compactMap(\.self)).count > 1 { fault = Self.uneven }
    }
    if let fault {
      forget(name)
      return answer(id, fault)
    }
    keep(id, name, letter.body, version, isLast: isLast)
  }

  private mutating func keep(
    _ id: RequestID, _ name: UUID128, _ bytes: [UInt8], _ version: Int, isLast: Bool = false
  ) {
    guard let upload = uploads[name] else { return }
    let token = begin(id)
    work[token]?.upload = (name, version, isLast)
    uploads[name]?.busy = token
    var members = [SyncScribe.member("user", upload.owner)]
    if let length = upload.length { members.append("\"length\":\(length)") }
    members.append("\"gzip\":\(upload.isGzip)")
    orders.append(
      .keep(
        token, name, line: SyncScribe.object(members) + "\n", at: upload.offset, bytes,
        isLast: isLast))
  }
}
