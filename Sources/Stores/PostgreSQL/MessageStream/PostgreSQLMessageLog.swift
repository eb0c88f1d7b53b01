package import HoldfastCore
import HoldfastFeaturePorts
package import HoldfastMessageData

/// The backend's message log in PostgreSQL.
///
/// Waiting appends share a transaction, whose commit is synced. The database keeps removed rows until
/// it cleans its tables, and in its write-ahead log and its backups as long as these are kept.
package actor PostgreSQLMessageLog: MessageLog {
  /// Requests that wait for the next transaction.
  private struct Waiting {
    let requests: [LogRequest]
    let caller: CheckedContinuation<[Result<LogOutcome, StoreFailure>], Never>
  }

  /// The maximum number of requests of a transaction. Callers may exceed it.
  private static let most = 1_000

  private let node: DatabaseNode
  private let stampsPosts: Bool
  private let writer: Lane
  private let readers: [Lane]
  /// The lane of the contents of images, for which posts do not wait.
  private let contents: Lane
  private var turn = 0
  private var waiting: [Waiting] = []
  private var isWriting = false
  private var isClosed = false

  /// Opens the log of a node, optionally with a new epoch.
  ///
  /// - Parameter stampsPosts: Whether a post that is not later than all before in its shop gets a later
  ///   time. The clocks of nodes differ.
  package init(
    of node: DatabaseNode, newEpoch: Bool = false, stampsPosts: Bool = false
  ) async throws(StoreFailure) {
    (self.node, self.stampsPosts) = (node, stampsPosts)
    writer = Lane(.log, of: node)
    contents = Lane(.images, of: node)
    readers = [
      Lane(.logPages, of: node, beside: writer), Lane(.logPages, of: node, beside: writer),
    ]
    if newEpoch {
      _ = try await writer.write {
        [Command("UPDATE log SET epoch = new_epoch()")] + $0.ending()
      }
    }
  }

  package func check() async throws(StoreFailure) {
    if let reason = node.reason { throw .denied(detail: reason) }
    _ = try await writer.read([Command("SELECT epoch FROM log")])
  }

  package func close() async {
    isClosed = true
    await writer.close()
    for reader in readers + [contents] { await reader.close() }
  }

  // MARK: - Appending

  package func append(_ requests: [LogRequest]) async -> [Result<LogOutcome, StoreFailure>] {
    guard !requests.isEmpty else { return [] }
    return await withCheckedContinuation { caller in
      waiting.append(Waiting(requests: requests, caller: caller))
      guard !isWriting else { return }
      isWriting = true
      Task { await self.writeAll() }
    }
  }

  /// Writes what waits, until nothing does. What arrives during a transaction shares the next one.
  private func writeAll() async {
    while !waiting.isEmpty {
      var (count, size) = (0, 0)
      while count < waiting.count, count == 0 || size + waiting[count].requests.count <= Self.most {
        size += waiting[count].requests.count
        count += 1
      }
      let batch = Array(waiting[..<count])
      waiting.removeFirst(count)
      var results = await write(batch.flatMap(\.requests))[...]
      for one in batch {
        one.caller.resume(returning: Array(results.prefix(one.requests.count)))
        results = results.dropFirst(one.requests.count)
      }
    }
    isWriting = false
  }

  private func write(_ requests: [LogRequest]) async -> [Result<LogOutcome, StoreFailure>] {
    var results: [Result<LogOutcome, StoreFailure>] = []
    for part in requests.withoutRepeatedChanges {
      do throws(StoreFailure) {
        results += try await writePart(part)
      } catch {
        results += part.map { _ in .failure(error) }
      }
    }
    return results
  }

  private func writePart(
    _ requests: [LogRequest]
  ) async throws(StoreFailure) -> [Result<LogOutcome, StoreFailure>] {
    let (parameters, stamps) = (LogParameters(requests), stampsPosts)
    let answer = try await writer.write { batch in
      [parameters.command(batch, stamps: stamps), Command("SELECT epoch FROM log")]
    }
    let rows: [[Row]]
    switch answer {
    case .rows(let found): rows = found
    case .known(let outcome): rows = try await writer.read(Self.replay(outcome, of: requests))
    }
    guard rows.count == 2, rows[0].count == requests.count, let epoch = rows[1].first else {
      throw .unanswered
    }
    let name = try epoch.text(0)
    var results: [Result<LogOutcome, StoreFailure>] = []
    for (request, row) in zip(requests, rows[0]) {
      results.append(try request.result(row, epoch: name))
    }
    return results
  }

  /// Reads the results of a batch that an attempt before has committed.
  static func replay(_ outcome: [Int64], of requests: [LogRequest]) -> [Command] {
    let (codes, offsets) = (outcome.prefix(requests.count), outcome.dropFirst(requests.count))
    return [
      Command(
        """
        SELECT o.code, o."offset", r.changed, r.id, r.author, r.username, r.text, r.created_at,
          r.updated_at, r.is_edited, r.parent
        FROM unnest($1::bytea[], $2::bigint[], $3::bigint[])
          WITH ORDINALITY o(shop, code, "offset", place)
        LEFT JOIN shops s ON s.shop = o.shop
        LEFT JOIN messages m ON m.shop = s.number AND m."offset" = o."offset"
        LEFT JOIN LATERAL stored_result(o.code, m) r ON m.id IS NOT NULL
        ORDER BY o.place
        """,
        [
          .texts(requests.map(\.shop.text)), .integers(Array(codes)), .integers(Array(offsets)),
        ]),
      Command("SELECT epoch FROM log"),
    ]
  }

  // MARK: - Reading

  func read(_ commands: [Command]) async throws(StoreFailure) -> [[Row]] {
    turn = (turn + 1) % readers.count
    return try await readers[turn].read(commands)
  }

  /// Changes the images. The number of affected rows is not needed.
  func write(_ commands: [Command]) async throws(StoreFailure) {
    _ = try await writer.write { commands + $0.ending() }
  }

  /// Changes the contents of images.
  func writeContents(_ commands: [Command]) async throws(StoreFailure) {
    _ = try await contents.write { commands + $0.ending() }
  }

  /// Reads the contents of images.
  func readContents(_ command: Command) async throws(StoreFailure) -> [Row] {
    try await contents.read([command])[0]
  }

  func write(
    reading: [Command],
    change:
      @escaping @Sendable ([[Row]]) throws(StoreFailure) -> (commands: [Command], outcome: [Int64])
  ) async throws(StoreFailure) -> [Int64] {
    try await writer.write(reading: reading, change: change)
  }

  /// Does nothing: texts leave the tables with their commit, and the rest is the database's.
  package func removeTraces() async throws(StoreFailure) {
    guard !isClosed else { throw .closed }
    if let reason = node.reason { throw .locked(detail: reason) }
  }
}

extension [LogRequest] {
  /// The requests in parts, so that the outcome of each part can be told from the rows after it. No part
  /// changes a message twice. A post with a key may be the repetition of a message that has another
  /// ID, so it is in no part with a change.
  var withoutRepeatedChanges: [[LogRequest]] {
    var parts: [[LogRequest]] = []
    var (part, touched): ([LogRequest], Set<MessageID>) = ([], [])
    var (hasKeys, hasChanges) = (false, false)
    for request in self {
      var (isPost, hasKey) = (false, false)
      if case .post(let entry) = request { (isPost, hasKey) = (true, entry.key != nil) }
      if isPost ? hasKey && hasChanges : hasKeys || touched.contains(request.id) {
        parts.append(part)
        (part, touched, hasKeys, hasChanges) = ([], [], false, false)
      }
      touched.insert(request.id)
      (hasKeys, hasChanges) = (hasKeys || hasKey, hasChanges || !isPost)
      part.append(request)
    }
    parts.append(part)
    return parts
  }
}

/// The requests of a batch as arrays, one for each parameter of `append_log`.
private struct LogParameters: Sendable {
  private var shops: [ShopID: Int32] = [:]
  private var names: [String] = []
  private var kinds: [Int32] = []
  private var rooms: [Int32] = []
  private var ids: [UUID128] = []
  private var authors: [String] = []
  private var usernames: [String?] = []
  private var texts: [String?] = []
  private var times: [Int64?] = []
  private var updates: [Int64?] = []
  private var flags: [Bool] = []
  private var parents: [UUID128?] = []
  private var keys: [UUID128?] = []
  private var windows: [Int64?] = []
  private var claimants: [Int32] = []
  private var images: [UUID128] = []
  /// The number of each request among those of its shop.
  private var numbers: [Int32] = []
  private var counts: [Int32] = []

  init(_ requests: [LogRequest]) {
    for request in requests {
      add(request.shop, request.id)
      switch request {
      case .post(let entry): add(entry)
      case .edit(let edit): add(edit)
      case .delete(let deletion):
        add(kind: 2, author: deletion.by.user, text: nil, at: nil, flag: deletion.by.isAdmin)
      }
    }
  }

  private mutating func add(_ shop: ShopID, _ id: MessageID) {
    let room = shops[shop] ?? Int32(names.count + 1)
    if shops.updateValue(room, forKey: shop) == nil {
      names.append(shop.text)
      counts.append(0)
    }
    counts[Int(room) - 1] += 1
    numbers.append(counts[Int(room) - 1])
    rooms.append(room)
    ids.append(id)
  }

  private mutating func add(_ entry: LogEntry) {
    let message = entry.message
    add(
      kind: 0, author: message.user, text: message.text, at: message.createdAt,
      flag: message.isEdited, key: entry.key, username: message.username,
      update: message.updatedAt, parent: message.parent)
  }

  private mutating func add(_ edit: LogEdit) {
    let window = edit.window.map { window in
      Timestamp(nanoseconds: 0).advanced(by: window).nanoseconds
    }
    add(
      kind: 1, author: edit.by.user, text: edit.text, at: edit.at, flag: false, key: edit.key,
      window: window)
  }

  private mutating func add(
    kind: Int32, author: String, text: String?, at time: Timestamp?, flag: Bool,
    key: UUID128? = nil, username: String? = nil, update: Timestamp? = nil,
    parent: UUID128? = nil, window: Int64? = nil
  ) {
    kinds.append(kind)
    authors.append(author)
    usernames.append(username)
    texts.append(text)
    times.append(time?.nanoseconds)
    updates.append(update?.nanoseconds)
    flags.append(flag)
    parents.append(parent)
    keys.append(key)
    windows.append(window)
    for image in text.map({ ImageReference.ids(in: $0) }) ?? [] {
      claimants.append(Int32(kinds.count))
      images.append(image)
    }
  }

  /// Whether there are only posts, without repeated IDs and keys, and without images.
  private var isPlain: Bool {
    let used = keys.compactMap(\.self)
    return kinds.allSatisfy { $0 == 0 } && images.isEmpty && Set(ids).count == ids.count
      && Set(used).count == used.count
  }

  func command(_ batch: Lane.Batch, stamps: Bool) -> Command {
    Command(
      """
      SELECT * FROM append_log($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
        $16, $17, $18, $19, $20)
      """,
      [
        .uuid(batch.run), .small(batch.lane), .integer(batch.number), .texts(names), .smalls(kinds),
        .smalls(rooms), .uuids(ids), .texts(authors), .texts(usernames), .texts(texts),
        .integers(times), .integers(updates), .flags(flags), .uuids(parents), .uuids(keys),
        .integers(windows), .smalls(claimants), .uuids(images),
        .smalls(isPlain ? numbers : []), .flag(stamps),
      ])
  }
}
