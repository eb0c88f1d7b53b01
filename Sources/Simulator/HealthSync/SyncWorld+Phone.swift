import HealthSync
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

// The shell of the app on a phone: its source, its disk, its uploads.
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
    case .halve(let file): halve(file, phone)
    case .askSecret:
      phones[index].usedSecret = phones[index].secret
      let isNew = phones[index].secret != phones[index].refused
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

  /// Writes a change behind those before it.
  private mutating func writeInOrder(_ change: Feature.Cue, _ phone: HostID) {
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

  /// Names batches.
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

  private mutating func halve(_ file: String, _ phone: HostID) {
    let halves = phones[phone.index].files[file].flatMap { SyncPacking.halves(of: $0) }
    guard let halves else {
      return kernel.answerLater(
        .input(.notHalved(file, nil)), to: phone, after: .milliseconds(2))
    }
    let drafts = name(halves, phone)
    writeInOrder(.halves(file, drafts, halves.map(\.bytes)), phone)
  }

  // The disk.

  mutating func makeDurable(_ change: Feature.Cue, on host: HostID) -> Feature.Cue? {
    switch change {
    case .writes(let id, let page, let bodies):
      keep(page.drafts, bodies, host)
      return .input(.fetched(id, page))
    case .halves(let file, let drafts, let bodies):
      keep(drafts, bodies, host)
      return .input(.halved(file, drafts))
    case .commits(let id, let steps):
      for step in steps { phones[host.index].apply(step) }
      return .input(.committed(id))
    case .stores(let token, let delivery, _): return store(token, delivery)
    case .keeps(let piece): return keep(piece)
    case .input, .reads, .fires, .naps, .tries, .informs, .stamps, .completes, .bodies, .done,
      .repeats, .looks:
      return nil
    }
  }

  private mutating func keep(_ drafts: [PayloadDraft], _ bodies: [[UInt8]], _ host: HostID) {
    for (draft, body) in zip(drafts, bodies) {
      phones[host.index].files[draft.file] = body
      phones[host.index].written.insert(SyncHash.folded(body))
    }
  }

  func refusedChange(_ change: Feature.Cue, isFull: Bool) -> Feature.Cue {
    let failure: StoreFailure =
      isFull ? .full(detail: "no space left") : .locked(detail: "another process has it")
    switch change {
    case .writes(let id, _, _): return .input(.notWritten(id, failure))
    case .halves(let file, _, _): return .input(.notHalved(file, failure))
    case .commits(let id, _): return .input(.notCommitted(id, failure))
    case .stores(let token, _, let end):
      return .done(token, end.map { .unfinished($0, failure) } ?? .failed(failure))
    case .keeps(let piece): return .done(piece.token, .failed(failure))
    case .input, .reads, .fires, .naps, .tries, .informs, .stamps, .completes, .bodies, .done,
      .repeats, .looks:
      return change
    }
  }

  // What happens.

  mutating func take(_ cue: Feature.Cue, on host: HostID?) {
    switch cue {
    case .input(let input): if let host { give(input, to: host) }
    case .reads(let id, let type, let start, let limit, let stamp):
      if let host { read(id, type, start, limit, notBefore: stamp, host) }
    case .fires(let phone): fire(kernel.phones[phone])
    case .naps(let phone): nap(kernel.phones[phone])
    case .tries(let phone, let file):
      // A task of the same file that was cancelled may have asked for it.
      guard phones[phone].tasks[file]?.exchange == nil else { return }
      tryUpload(file, kernel.phones[phone])
    case .informs(let phone, let file, let number, let fields):
      informed(file, number, fields, kernel.phones[phone])
    case .stamps(let token, let user, let device):
      let stamp = backend.kept.newestStamp(of: user, device: device)
      feed(.other(.done(token, .stamped(stamp))))
    case .completes(let piece): complete(piece)
    case .bodies(let number): bodyEnds(number)
    case .done(let token, let outcome): feed(.other(.done(token, outcome)))
    case .repeats(let question): repeated(question)
    case .looks(let phone): look(at: phone)
    case .writes, .halves, .commits, .stores, .keeps: return  // become durable instead
    }
  }

  mutating func begin(_ verb: Feature.Verb, _ act: Act<Feature.Verb>, _ index: Int) {
    switch verb {
    case .rotates: backend.secret += 1
    case .serverReturns: putBackServer(index)
    case .cellular, .lowData, .lowPower, .locks, .overloads: return  // conditions say it all
    case .adds, .deletes, .restores, .storeReturns, .queueReturns, .forceQuits, .retries, .resets,
      .jettisons, .refreshes, .processes:
      for phone in targets(of: act) { begin(verb, act, index, on: phone) }
    }
  }

  private mutating func begin(
    _ verb: Feature.Verb, _ act: Act<Feature.Verb>, _ index: Int, on phone: HostID
  ) {
    switch verb {
    case .adds: add(act.number, phone)
    case .deletes: change(deletes: true, act.number, phone)
    case .restores: change(deletes: false, act.number, phone)
    case .storeReturns: putBackStore(phone)
    case .queueReturns:
      forceQuit(phone, index)
      phones[phone.index].putBack()
      note(.putBack(.queue(phone: phone.index)))
    case .forceQuits: forceQuit(phone, index)
    case .retries: restart(phone) { $0.releaseAll() }
    case .resets: restart(phone) { $0.reset(SyncSource.types[act.number]) }
    case .jettisons: jettison(phone, index)
    case .refreshes: grant(.seconds(30), phone)
    case .processes: grant(.seconds(180), phone)
    case .cellular, .lowData, .lowPower, .locks, .overloads, .rotates, .serverReturns: return
    }
  }

  private mutating func putBackStore(_ phone: HostID) {
    phones[phone.index].source.putBack(&kernel.hosts[phone.place].chance)
    phones[phone.index].due.formUnion(phones[phone.index].source.types)
    note(.putBack(.healthStore(phone: phone.index)))
    changed(phone)
  }

  mutating func end(_ act: Act<Feature.Verb>, _ index: Int) {
    switch act.verb {
    case .own(.rotates): for phone in phones.indices { phones[phone].secret = backend.secret }
    case .own(.locks): for phone in kernel.phones { fireSoon(phone, within: .milliseconds(200)) }
    case .own, .common: return
    }
  }

  // The person.

  mutating func add(_ count: Int, _ phone: HostID) {
    let wall = wall(phone)
    for _ in 0..<count {
      let word = kernel.hosts[phone.place].chance.next()
      let type = phones[phone.index].source.type(word)
      phones[phone.index].source.add(type, at: wall, &kernel.hosts[phone.place].chance)
      phones[phone.index].due.insert(type)
    }
    kernel.counts[.samples] += count
    changed(phone)
  }

  mutating func change(deletes: Bool, _ count: Int, _ phone: HostID) {
    for _ in 0..<count {
      guard
        let type = phones[phone.index].source.change(
          deletes: deletes, &kernel.hosts[phone.place].chance)
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
