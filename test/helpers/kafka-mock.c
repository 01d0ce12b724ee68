/* A Kafka cluster of librdkafka's mock brokers, in memory: kafka-mock TOPIC. Prints its bootstrap servers once it serves,
 * and ends with its standard input. */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
  char error[512];
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  rd_kafka_t *handle = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
  if (argc < 2 || !handle) return 1;
  rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(handle, 2);
  rd_kafka_mock_topic_create(cluster, argv[1], 3, 2);
  printf("%s\n", rd_kafka_mock_cluster_bootstraps(cluster));
  fflush(stdout);
  char end;
  while (read(0, &end, 1) > 0) continue;
  return 0;
}
