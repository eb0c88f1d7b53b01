import LinkCore
import LinkHealth
import LinkWire

/// What a server must have stored, told a second time: each UUID with its last word, and each
/// sample with those who hold it.
struct SyncStock {
  private struct Word {
    var time: Int64
    /// The sample that it names; `nil` if it was deleted.
    var place: HealthSamplePlace?
  }

  struct Entry {
    var sample: SyncParcel.Sample
    var holders: Set<UUID128> = []
  }

  private var words: [String: [UUID128: Word]] = [:]
  private(set) var entries: [String: [HealthSamplePlace: Entry]] = [:]

  /// Applies a batch; returns how many records, workouts, and known samples it had.
  mutating func apply(_ parcel: SyncParcel, of user: String) -> SyncTally {
    var tally = SyncTally()
    for uuid in parcel.deleted { delete(uuid, parcel.made?.nanoseconds, user) }
    for sample in parcel.samples {
      if !add(sample, parcel.made?.nanoseconds, user) {
        tally.skippedDuplicates += 1
      } else if sample.type == HealthSample.workoutType {
        tally.workouts += 1
      } else {
        tally.records += 1
      }
    }
    return tally
  }

  private mutating func delete(_ uuid: UUID128, _ made: Int64?, _ user: String) {
    let word = words[user]?[uuid]
    if word?.place != nil, let made, let word, made < word.time { return }
    release(uuid, word?.place, user)
    words[user, default: [:]][uuid] = Word(
      time: max(made ?? .min, word?.time ?? .min), place: nil)
  }

  private mutating func release(_ uuid: UUID128, _ place: HealthSamplePlace?, _ user: String) {
    guard let place else { return }
    entries[user]?[place]?.holders.remove(uuid)
    if entries[user]?[place]?.holders.isEmpty == true { entries[user]?[place] = nil }
  }

  private mutating func add(_ sample: SyncParcel.Sample, _ made: Int64?, _ user: String) -> Bool {
    let place = sample.place
    let isKnown = entries[user]?[place] != nil
    guard let uuid = sample.uuid else {
      if !isKnown { entries[user, default: [:]][place] = Entry(sample: sample) }
      return !isKnown
    }
    let word = words[user]?[uuid]
    if let made, let word, made < word.time { return false }
    let before = word?.place
    let time = before == nil ? made ?? .min : max(made ?? .min, word?.time ?? .min)
    words[user, default: [:]][uuid] = Word(time: time, place: place)
    if before == place { return false }
    entries[user, default: [:]][place, default: Entry(sample: sample)].holders.insert(uuid)
    release(uuid, before, user)
    return !isKnown
  }

  /// What differs in a store; `nil` if nothing does.
  func difference(from kept: KeptSync, of user: String) -> String? {
    let own = entries[user] ?? [:]
    if kept.places(of: user) != Set(own.keys) { return "the store has other samples of \(user)" }
    let types = Dictionary(grouping: own.keys, by: \.type)
    let summary = types.keys.sorted().map { type in
      let starts = (types[type] ?? []).map(\.start).sorted()
      return HealthTypeSummary(
        type: type, count: starts.count, first: starts[0], last: starts[starts.count - 1])
    }
    if kept.summary(of: user) != summary { return "the store tells other sums of \(user)" }
    for (type, places) in types {
      let sorted = places.sorted { ($0.start, $0.key) < ($1.start, $1.key) }
      var found: [SyncRaw] = []
      repeat {
        let more = kept.raw(type, after: found.last?.place, limit: 3, of: user)
        found += more
        if more.count < 3 { break }
      } while found.count <= sorted.count
      let all = sorted.map { SyncRaw(place: $0, bytes: own[$0]?.sample.raw ?? []) }
      if found != all { return "the store gives other records of \(type)" }
    }
    return difference(from: kept, of: user, types.mapValues { $0.map { own[$0]?.sample } })
  }

  /// What differs in the pages that answers are made of.
  private func difference(
    from kept: KeptSync, of user: String, _ types: [String: [SyncParcel.Sample?]]
  ) -> String? {
    let names = types.keys.sorted() + ["none"]
    let samples = names.flatMap { type in
      (types[type] ?? []).compactMap(\.self).sorted {
        ($0.start, $0.place.key) < ($1.start, $1.place.key)
      }
    }
    let starts = samples.map(\.start).sorted()
    guard let from = starts.dropFirst(starts.count / 3).first, let to = starts.last else {
      return nil
    }
    var query = HealthSampleQuery(types: names, from: from, to: to, limit: 3)
    let must = samples.filter { query.covers(start: $0.start, end: $0.end) }.compactMap { sample in
      sample.value.map {
        HealthSample(
          type: sample.type, value: $0, unit: sample.unit, start: sample.start, end: sample.end,
          source: sample.source)
      }
    }
    var found: [HealthSample] = []
    repeat {
      let page = kept.samples(query, of: user)
      found += page.samples
      query.after = page.next
    } while query.after != nil && found.count <= must.count
    return found == must ? nil : "the store shows other samples of \(user)"
  }
}
