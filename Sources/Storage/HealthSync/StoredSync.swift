public import LinkCore
public import LinkHealth
public import LinkWire

/// The samples that phones have synced, as a value.
///
/// A sample is known by its hash. It may have several UUIDs, since equal samples are stored once;
/// it is removed with the last of them. A UUID that was deleted is remembered, so that a batch that
/// is older than the deletion does not bring the sample back; nor does a deletion that is older
/// than the newest batch that named a UUID remove its sample. So batches may come late and
/// repeatedly. How old a batch is says `SyncStamps`.
public struct StoredSync: Sendable, Hashable {
  /// One generation of what is stored: another one does not hold all that this one held.
  public private(set) var epoch: String
  private var shelves: [String: Shelf] = [:]

  /// No samples.
  public init(epoch: String = "memory") { self.epoch = epoch }

  /// Begins another epoch over the same samples, after they were put back to an earlier state.
  package mutating func begin(epoch: String) { self.epoch = epoch }

  /// Returns the newest stamp of a batch of a phone.
  public func newestStamp(of user: String, device: String) -> Timestamp? {
    shelves[user]?.stamps.newest(of: device)
  }

  /// Applies a batch: its deletions, then its samples.
  public mutating func apply(_ delivery: SyncDelivery) -> SyncTally {
    shelves[delivery.user, default: Shelf()].apply(delivery)
  }

  /// Returns one page of samples that lie in a span, at least in part.
  public func samples(_ query: HealthSampleQuery, of user: String) -> HealthSamplePage {
    query.page { type, after, limit in
      let places = shelves[user]?.places(of: type) ?? []
      let found = places.lazy.filter { place in
        after.map {
          $0.start < place.start
            || ($0.start == place.start && $0.key < place.key)
        } ?? true
      }
      .compactMap { place in shelves[user]?.samples[place]?.sample.sample.map { (place, $0) } }
      .filter { query.covers(start: $0.1.start, end: $0.1.end) }
      return found.prefix(limit).map { (key: $0.0.key, sample: $0.1) }
    }
  }

  /// Returns what is kept of each type of a user, ordered by its identifier.
  public func summary(of user: String) -> [HealthTypeSummary] {
    let samples = shelves[user]?.samples.values.map(\.sample) ?? []
    return Dictionary(grouping: samples, by: \.type).compactMap { type, samples in
      let starts = samples.map(\.start)
      guard let first = starts.min(), let last = starts.max() else { return nil }
      return HealthTypeSummary(type: type, count: samples.count, first: first, last: last)
    }.sorted { $0.type < $1.type }
  }

  /// Returns the places of all samples of a user.
  package func places(of user: String) -> Set<HealthSamplePlace> {
    shelves[user].map { Set($0.samples.keys) } ?? []
  }

  /// Returns records of a type as they were sent, by start, after a place or from the first one.
  public func raw(
    _ type: String, after: HealthSamplePlace?, limit: Int, of user: String
  ) -> [SyncRaw] {
    let places = shelves[user]?.places(of: type) ?? []
    return places.lazy.filter { place in
      after.map { ($0.start, $0.key) < (place.start, place.key) } ?? true
    }.prefix(max(1, limit)).compactMap { place in
      shelves[user]?.samples[place].map { SyncRaw(place: place, bytes: Array($0.sample.raw)) }
    }
  }
}

/// The samples of one user.
private struct Shelf: Sendable, Hashable {
  struct Entry: Hashable {
    var sample: SyncSample
    var uuids: Int
  }

  /// What is known of a UUID.
  enum Identity: Hashable {
    /// Named by a batch of this time; the earliest one if it did not say.
    case sample(HealthSamplePlace, named: Timestamp)
    /// By a batch of this time; the earliest one if it did not say.
    case deleted(Timestamp)
  }

  var samples: [HealthSamplePlace: Entry] = [:]
  var identities: [UUID128: Identity] = [:]
  var stamps = SyncStamps()

  func places(of type: String) -> [HealthSamplePlace] {
    samples.keys.filter { $0.type == type }.sorted { ($0.start, $0.key) < ($1.start, $1.key) }
  }

  mutating func apply(_ delivery: SyncDelivery) -> SyncTally {
    let made = delivery.made.map {
      stamps.note($0, of: delivery.device, arrived: delivery.arrived)
    }
    for uuid in delivery.deleted { delete(uuid, made: made) }
    var tally = SyncTally()
    for sample in delivery.samples { tally.count(sample, add(sample, made: made)) }
    return tally
  }

  private mutating func delete(_ uuid: UUID128, made: Timestamp?) {
    let time = made ?? Timestamp(nanoseconds: .min)
    switch identities[uuid] {
    case .sample(let place, let named)?:
      if let made, made < named { return }
      release(place)
      identities[uuid] = .deleted(max(named, time))
    case .deleted(let before)?: identities[uuid] = .deleted(max(before, time))
    case nil: identities[uuid] = .deleted(time)
    }
  }

  private mutating func release(_ place: HealthSamplePlace) {
    samples[place]?.uuids -= 1
    if let uuids = samples[place]?.uuids, uuids <= 0 { samples[place] = nil }
  }

  private mutating func add(_ sample: SyncSample, made: Timestamp?) -> SyncAddition {
    let place = sample.place
    let isNew = samples[place] == nil
    let refusal: SyncAddition = isNew ? .refused : .known
    var time = made ?? Timestamp(nanoseconds: .min)
    var former: HealthSamplePlace?
    if let uuid = sample.uuid {
      switch identities[uuid] {
      case .deleted(let deleted)?: if let made, made < deleted { return refusal }
      case .sample(let other, let named)?:
        if let made, made < named { return refusal }
        time = max(named, time)
        former = other
      case nil: break
      }
    }
    if isNew {
      var kept = sample
      kept.uuid = nil
      samples[place] = Entry(sample: kept, uuids: 0)
    }
    if let uuid = sample.uuid {
      samples[place]?.uuids += 1
      identities[uuid] = .sample(place, named: time)
    }
    if let former { release(former) }
    return isNew ? .new : .known
  }
}

/// What became of a sample of a batch.
package enum SyncAddition: Sendable, Hashable {
  case new
  /// It is stored already.
  case known
  /// A newer batch deleted it, or gave its UUID to another one.
  case refused
}

extension SyncTally {
  /// Counts what became of a sample.
  package mutating func count(_ sample: SyncSample, _ addition: SyncAddition) {
    switch addition {
    case .new: if case .workout = sample.value { workouts += 1 } else { records += 1 }
    case .known: skippedDuplicates += 1
    case .refused: refused += 1
    }
  }
}
