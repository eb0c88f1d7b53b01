// What the package uses of HealthKit.
#pragma once
@import Foundation;
#include "HKWorkoutActivityType.h"
#pragma clang assume_nonnull begin

typedef NSString *HKQuantityTypeIdentifier STRING_ENUM;
typedef NSString *HKCategoryTypeIdentifier STRING_ENUM;
typedef NSString *HKCorrelationTypeIdentifier STRING_ENUM;
extern const NSUInteger HKObjectQueryNoLimit;
extern NSString *const HKSampleSortIdentifierStartDate;
extern NSString *const HKSampleSortIdentifierEndDate;
extern NSString *const HKPredicateKeyPathUUID;
extern NSString *const HKMetadataKeyTimeZone;
extern NSString *const HKMetadataKeyWasUserEntered;
extern NSString *const HKMetadataKeyExternalUUID;
extern NSString *const HKMetadataKeySyncIdentifier;
extern NSString *const HKMetadataKeySyncVersion;
extern NSString *const HKWorkoutTypeIdentifier;

extern NSString *const HKErrorDomain;
typedef enum ERRORS(HKErrorDomain) HKErrorCode : NSInteger {
  HKUnknownError = 0,
  HKErrorHealthDataUnavailable = 1,
  HKErrorHealthDataRestricted = 2,
  HKErrorInvalidArgument = 3,
  HKErrorAuthorizationDenied = 4,
  HKErrorAuthorizationNotDetermined = 5,
  HKErrorDatabaseInaccessible = 6,
  HKErrorUserCanceled = 7,
  HKErrorAnotherWorkoutSessionStarted = 8,
  HKErrorUserExitedWorkoutSession = 9,
  HKErrorRequiredAuthorizationDenied = 10,
  HKErrorNoData = 11,
  HKErrorWorkoutActivityNotAllowed = 12,
  HKErrorDataSizeExceeded = 13,
  HKErrorBackgroundWorkoutSessionNotAllowed = 14,
  HKErrorNotPermissibleForGuestUserMode = 15,
} HKErrorCode;
typedef enum OPEN_ENUM HKUpdateFrequency : NSInteger {
  HKUpdateFrequencyImmediate = 1,
  HKUpdateFrequencyHourly = 2,
  HKUpdateFrequencyDaily = 3,
  HKUpdateFrequencyWeekly = 4,
} HKUpdateFrequency;
typedef enum OPEN_ENUM HKAuthorizationStatus : NSInteger {
  HKAuthorizationStatusNotDetermined = 0,
  HKAuthorizationStatusSharingDenied = 1,
  HKAuthorizationStatusSharingAuthorized = 2,
} HKAuthorizationStatus;
typedef enum OPEN_ENUM HKAuthorizationRequestStatus : NSInteger {
  HKAuthorizationRequestStatusUnknown = 0,
  HKAuthorizationRequestStatusShouldRequest = 1,
  HKAuthorizationRequestStatusUnnecessary = 2,
} HKAuthorizationRequestStatus;
typedef enum OPTIONS HKQueryOptions : NSUInteger {
  HKQueryOptionNone = 0,
  HKQueryOptionStrictStartDate = 1 << 0,
  HKQueryOptionStrictEndDate = 1 << 1,
} HKQueryOptions;

@class HKUnit, HKQuantityType, HKCategoryType, HKCorrelationType, HKWorkoutType, HKDeletedObject, HKQueryAnchor, HKStatistics;

SENDABLE
@interface HKObjectType : NSObject <NSSecureCoding, NSCopying>
@property(readonly) NSString *identifier;
- (instancetype)init UNAVAILABLE;
+ (nullable HKQuantityType *)quantityTypeForIdentifier:(HKQuantityTypeIdentifier)identifier;
+ (nullable HKCategoryType *)categoryTypeForIdentifier:(HKCategoryTypeIdentifier)identifier;
+ (nullable HKCorrelationType *)correlationTypeForIdentifier:(HKCorrelationTypeIdentifier)identifier;
+ (HKWorkoutType *)workoutType;
@end
SENDABLE
@interface HKSampleType : HKObjectType
@end
SENDABLE
@interface HKQuantityType : HKSampleType
- (BOOL)isCompatibleWithUnit:(HKUnit *)unit SWIFT_NAME(is(compatibleWith:));
@end
SENDABLE
@interface HKCategoryType : HKSampleType
@end
SENDABLE
@interface HKCorrelationType : HKSampleType
@end
SENDABLE
@interface HKWorkoutType : HKSampleType
@end

SENDABLE
@interface HKUnit : NSObject <NSSecureCoding, NSCopying>
@property(readonly) NSString *unitString;
- (instancetype)init UNAVAILABLE;
+ (instancetype)unitFromString:(NSString *)string;
@end
SENDABLE
@interface HKQuantity : NSObject <NSSecureCoding, NSCopying>
- (instancetype)init UNAVAILABLE;
+ (instancetype)quantityWithUnit:(HKUnit *)unit doubleValue:(double)value;
- (BOOL)isCompatibleWithUnit:(HKUnit *)unit;
- (double)doubleValueForUnit:(HKUnit *)unit;
@end

SENDABLE
@interface HKSource : NSObject <NSSecureCoding, NSCopying>
@property(readonly) NSString *name;
@property(readonly) NSString *bundleIdentifier;
- (instancetype)init UNAVAILABLE;
@end
SENDABLE
@interface HKSourceRevision : NSObject <NSSecureCoding, NSCopying>
@property(readonly) HKSource *source;
@property(readonly, nullable) NSString *version;
@property(readonly, copy, nullable) NSString *productType;
- (instancetype)init UNAVAILABLE;
@end
SENDABLE
@interface HKDevice : NSObject <NSSecureCoding, NSCopying>
@property(readonly, nullable) NSString *name;
@property(readonly, nullable) NSString *manufacturer;
@property(readonly, nullable) NSString *model;
@property(readonly, nullable) NSString *hardwareVersion;
@property(readonly, nullable) NSString *firmwareVersion;
@property(readonly, nullable) NSString *softwareVersion;
@property(readonly, nullable) NSString *localIdentifier;
- (instancetype)init UNAVAILABLE;
@end

SENDABLE
@interface HKObject : NSObject <NSSecureCoding>
@property(readonly, strong) NSUUID *UUID;
@property(readonly, strong) HKSourceRevision *sourceRevision;
@property(readonly, strong, nullable) HKDevice *device;
@property(readonly, copy, nullable) NSDictionary<NSString *, id> *metadata;
- (instancetype)init UNAVAILABLE;
@end
SENDABLE
@interface HKSample : HKObject
@property(readonly, strong) HKSampleType *sampleType;
@property(readonly, strong) NSDate *startDate;
@property(readonly, strong) NSDate *endDate;
@end
SENDABLE
@interface HKQuantitySample : HKSample
@property(readonly, strong) HKQuantityType *quantityType;
@property(readonly, strong) HKQuantity *quantity;
@end
SENDABLE
@interface HKCategorySample : HKSample
@property(readonly, strong) HKCategoryType *categoryType;
@property(readonly) NSInteger value;
@end
SENDABLE
@interface HKCorrelation : HKSample
@property(readonly, strong) HKCorrelationType *correlationType;
@property(readonly, strong) NSSet<HKSample *> *objects;
@end
SENDABLE
@interface HKWorkout : HKSample
@property(readonly) HKWorkoutActivityType workoutActivityType;
@property(readonly) NSTimeInterval duration;
@property(readonly, copy) NSDictionary<HKQuantityType *, HKStatistics *> *allStatistics IOS(16.0) MACOS(13.0) WATCHOS(9.0);
- (nullable HKStatistics *)statisticsForType:(HKQuantityType *)quantityType IOS(16.0) MACOS(13.0) WATCHOS(9.0);
@end
SENDABLE
@interface HKStatistics : NSObject <NSSecureCoding, NSCopying>
@property(readonly, strong) HKQuantityType *quantityType;
@property(readonly, strong) NSDate *startDate;
@property(readonly, strong) NSDate *endDate;
- (instancetype)init UNAVAILABLE;
- (nullable HKQuantity *)sumQuantity;
@end
SENDABLE
@interface HKDeletedObject : NSObject <NSSecureCoding>
@property(readonly, strong) NSUUID *UUID;
@property(readonly, copy, nullable) NSDictionary<NSString *, id> *metadata;
- (instancetype)init UNAVAILABLE;
@end
SENDABLE
@interface HKQueryAnchor : NSObject <NSSecureCoding, NSCopying>
- (instancetype)init UNAVAILABLE;
@end

SENDABLE
@interface HKQuery : NSObject
@property(readonly, strong, nullable) HKObjectType *objectType;
@property(readonly, strong, nullable) NSPredicate *predicate;
- (instancetype)init UNAVAILABLE;
+ (NSPredicate *)predicateForSamplesWithStartDate:(nullable NSDate *)startDate endDate:(nullable NSDate *)endDate options:(HKQueryOptions)options;
+ (NSPredicate *)predicateForObjectWithUUID:(NSUUID *)UUID;
+ (NSPredicate *)predicateForObjectsWithUUIDs:(NSSet<NSUUID *> *)UUIDs;
@end
typedef void (^HKObserverQueryCompletionHandler)(void);
SENDABLE
@interface HKObserverQuery : HKQuery
- (instancetype)initWithSampleType:(HKSampleType *)sampleType predicate:(nullable NSPredicate *)predicate updateHandler:(void (SENDABLE ^)(HKObserverQuery *query, HKObserverQueryCompletionHandler completionHandler, NSError *_Nullable error))updateHandler;
@end
SENDABLE
@interface HKAnchoredObjectQuery : HKQuery
- (instancetype)initWithType:(HKSampleType *)type predicate:(nullable NSPredicate *)predicate anchor:(nullable HKQueryAnchor *)anchor limit:(NSUInteger)limit resultsHandler:(void (SENDABLE ^)(HKAnchoredObjectQuery *query, NSArray<HKSample *> *_Nullable sampleObjects, NSArray<HKDeletedObject *> *_Nullable deletedObjects, HKQueryAnchor *_Nullable newAnchor, NSError *_Nullable error))handler;
@end
SENDABLE
@interface HKSampleQuery : HKQuery
@property(readonly) NSUInteger limit;
- (instancetype)initWithSampleType:(HKSampleType *)sampleType predicate:(nullable NSPredicate *)predicate limit:(NSUInteger)limit sortDescriptors:(nullable NSArray<NSSortDescriptor *> *)sortDescriptors resultsHandler:(void (SENDABLE ^)(HKSampleQuery *query, NSArray<__kindof HKSample *> *_Nullable results, NSError *_Nullable error))resultsHandler;
@end
SENDABLE
@interface HKSourceQuery : HKQuery
- (instancetype)initWithSampleType:(HKSampleType *)sampleType samplePredicate:(nullable NSPredicate *)objectPredicate completionHandler:(void (SENDABLE ^)(HKSourceQuery *query, NSSet<HKSource *> *_Nullable sources, NSError *_Nullable error))completionHandler;
@end

SENDABLE
@interface HKHealthStore : NSObject
+ (BOOL)isHealthDataAvailable;
- (HKAuthorizationStatus)authorizationStatusForType:(HKObjectType *)type;
- (void)requestAuthorizationToShareTypes:(nullable NSSet<HKSampleType *> *)typesToShare readTypes:(nullable NSSet<HKObjectType *> *)typesToRead completion:(void (SENDABLE ^)(BOOL success, NSError *_Nullable error))completion;
- (void)getRequestStatusForAuthorizationToShareTypes:(NSSet<HKSampleType *> *)typesToShare readTypes:(NSSet<HKObjectType *> *)typesToRead completion:(void (SENDABLE ^)(HKAuthorizationRequestStatus requestStatus, NSError *_Nullable error))completion SWIFT_ASYNC_NAME(statusForAuthorizationRequest(toShare:read:));
- (void)executeQuery:(HKQuery *)query;
- (void)stopQuery:(HKQuery *)query;
- (void)enableBackgroundDeliveryForType:(HKObjectType *)type frequency:(HKUpdateFrequency)frequency withCompletion:(void (SENDABLE ^)(BOOL success, NSError *_Nullable error))completion;
- (void)disableBackgroundDeliveryForType:(HKObjectType *)type withCompletion:(void (SENDABLE ^)(BOOL success, NSError *_Nullable error))completion;
- (void)disableAllBackgroundDeliveryWithCompletion:(void (SENDABLE ^)(BOOL success, NSError *_Nullable error))completion;
@end
#pragma clang assume_nonnull end
